// The stream of events, read with fetch because EventSource cannot send a token. Comes back by itself when it breaks off.

const firstDelay = 500; // ms
const longestDelay = 15_000;
const silence = 40_000; // the gateway sends a comment every 15 s: longer silence is a dead connection
const longestEvent = 1 << 20; // characters

export class EventStream {
  #api;
  #on;
  #delay = firstDelay;
  #wake = () => {};

  /** `on.event(name, data)`; `on.state('connecting' | 'live' | 'lost', problem, delay)`. */
  constructor(api, on) {
    this.#api = api;
    this.#on = on;
  }

  /** Never ends. */
  async run() {
    for (;;) {
      this.#on.state('connecting');
      const problem = await this.#once();
      const delay = this.#delay * (0.75 + Math.random() / 2); // many pages must not come back at the same moment
      this.#delay = Math.min(2 * this.#delay, longestDelay);
      this.#on.state('lost', problem, delay);
      await new Promise((resolve) => {
        this.#wake = resolve;
        setTimeout(resolve, delay);
      });
    }
  }

  /** Does not wait any longer. */
  retryNow() {
    this.#wake();
  }

  // Reads one connection to its end, and says why it ended.
  async #once() {
    const connection = new AbortController();
    let timer;
    const heard = () => {
      clearTimeout(timer);
      timer = setTimeout(() => connection.abort(), silence);
    };
    try {
      const body = await this.#api.open('admin/events', connection.signal);
      heard();
      this.#delay = firstDelay;
      this.#on.state('live');
      await this.#read(body, heard);
      return 'The gateway ended the connection.';
    } catch (error) {
      return connection.signal.aborted ? 'The gateway is silent.' : error.status === undefined ? 'The connection broke off.' : error.message;
    } finally {
      clearTimeout(timer);
      connection.abort();
    }
  }

  async #read(body, heard) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      heard();
      const blocks = (text + value).split('\n\n');
      text = blocks.pop();
      if (text.length > longestEvent) throw new Error('an event without an end');
      blocks.forEach((block) => this.#dispatch(block));
    }
  }

  #dispatch(block) {
    const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: ?(.*)/s, 2)));
    if (fields.event && fields.data) this.#on.event(fields.event, JSON.parse(fields.data));
  }
}
