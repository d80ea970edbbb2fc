// Puts the attempts and refusals of a request together: the trail that is shown of a request that fell back.

const openRequests = 1_000; // whose end has not come; the oldest are forgotten
const shown = 12;

export class Trails {
  #steps = new Map(); // by request id, while it runs
  #finished = [];

  /** The latest first: `{ request, steps }`. */
  get latest() {
    return this.#finished;
  }

  clear() {
    this.#steps.clear();
    this.#finished = [];
  }

  /** Takes an event of the stream; says whether the list has changed. */
  take(name, data) {
    switch (name) {
      case 'attempt':
        this.#of(data.request_id).push({ ...data, called: true });
        return false;
      case 'circuit_refused':
        if (data.request_id) this.#of(data.request_id).push({ provider: data.provider, class: 'circuit_open', called: false });
        return false;
      case 'fallback':
        this.#leave(this.#of(data.request_id), data);
        return false;
      case 'request':
        return this.#finish(data);
      default:
        return false;
    }
  }

  /** Takes rows of the telemetry log, the newest first. What was refused is not in it. */
  load(rows) {
    const oldestFirst = [...rows].reverse();
    for (const row of oldestFirst) if (row.kind === 'attempt') this.take('attempt', row);
    for (const row of oldestFirst) if (row.kind === 'request') this.take('request', row);
  }

  #of(id) {
    let steps = this.#steps.get(id);
    if (!steps) {
      this.#steps.set(id, (steps = []));
      if (this.#steps.size > openRequests) this.#steps.delete(this.#steps.keys().next().value);
    }
    return steps;
  }

  // A route is left: by a call that failed, by a refusal of its circuit, or by another refusal, which is no event of its own.
  #leave(steps, { from, class: why }) {
    const last = steps.at(-1);
    if (last && !last.called && !last.route) last.route = from;
    else if (last?.route !== from) steps.push({ route: from, class: why, called: false });
  }

  #finish(request) {
    const steps = this.#steps.get(request.request_id) ?? [];
    this.#steps.delete(request.request_id);
    if (!request.fallbacks && request.code !== 'fallback_exhausted') return false;
    // The log has no refusals, but the requested route comes first in every trail.
    if (steps[0]?.called && steps[0].route !== request.requested_route)
      steps.unshift({ route: request.requested_route, class: null, called: false });
    this.#finished = [{ request, steps }, ...this.#finished].slice(0, shown);
    return true;
  }
}
