// What the charts show: the requests of the last minutes in buckets of a few seconds. Memory is bounded whatever the load.

export const step = 5_000; // ms of one bucket
export const length = 60; // buckets
const samples = 300; // latencies kept of a bucket; of more, an even choice

export class History {
  #buckets = new Map(); // by the number of the bucket
  #knownSince = Infinity;

  /** What ended before `since`, Unix ms, is not known. */
  clear(since) {
    this.#buckets.clear();
    this.#knownSince = since;
  }

  /** One request: a row of telemetry or an event. */
  add(row) {
    const number = Math.floor((Date.parse(row.time) + (row.latency_ms ?? 0)) / step);
    let bucket = this.#buckets.get(number);
    if (!bucket) {
      this.#buckets.set(number, (bucket = { requests: 0, failed: 0, latency: new Sample(), firstToken: new Sample() }));
      this.#forget(number - 2 * length);
    }
    bucket.requests += 1;
    if (!row.success) bucket.failed += 1;
    else if (!row.replayed && !row.cached) bucket.latency.add(row.latency_ms);
    if (row.success && row.time_to_first_token_ms != null) bucket.firstToken.add(row.time_to_first_token_ms);
  }

  #forget(before) {
    for (const number of this.#buckets.keys()) if (number < before) this.#buckets.delete(number);
  }

  /** The whole buckets up to `now`, the oldest first; null where nothing is known. */
  points(now) {
    const end = Math.floor(now / step);
    return Array.from({ length }, (_, place) => {
      const number = end - length + place;
      const at = number * step;
      if (at < this.#knownSince) return { at, rate: null, failures: null };
      const bucket = this.#buckets.get(number);
      if (!bucket) return { at, rate: 0, failures: 0 };
      return {
        at,
        rate: bucket.requests / (step / 1000),
        failures: bucket.failed / (step / 1000),
        ...bucket.latency.quantiles('latency'),
        ...bucket.firstToken.quantiles('firstToken'),
      };
    });
  }
}

// An even choice of the values that it was given (reservoir sampling).
class Sample {
  #seen = 0;
  #values = [];

  add(value) {
    if (value == null) return;
    this.#seen += 1;
    const place = this.#seen <= samples ? this.#values.length : Math.floor(Math.random() * this.#seen);
    if (place < samples) this.#values[place] = value;
  }

  quantiles(name) {
    if (this.#values.length === 0) return {};
    const sorted = Float64Array.from(this.#values).sort();
    const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
    return { [`${name}50`]: at(0.5), [`${name}95`]: at(0.95) };
  }
}
