import { once } from 'node:events';
import { createServer } from 'node:http';

import { deferred } from './expect.mjs';

/**
 * A provider inside the test, for exact control: one answer a request, the last for all that follow. An answer is a function
 * of Node's response and of the request, as in `requests`. For `gatewayTest`.
 */
export const scripted =
  (...answers) =>
  async () => {
    const provider = new ScriptedProvider(answers);
    provider.server.listen(0, '127.0.0.1');
    await once(provider.server, 'listening');
    provider.url = `http://127.0.0.1:${provider.server.address().port}`;
    return provider;
  };

class ScriptedProvider {
  /** Of each request the path, the headers and the parsed body, in order of arrival. */
  requests = [];
  #answers;
  #arrivals = [];

  constructor(answers) {
    this.#answers = answers;
    this.server = createServer((request, response) => this.#serve(request, response));
  }

  async count() {
    return this.requests.length;
  }

  /** Fulfilled when the n-th request, from 1, has arrived. */
  arrival(n) {
    return (this.#arrivals[n] ??= deferred()).promise;
  }

  async stop() {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  async #serve(request, response) {
    request.on('error', () => {}); // the gateway may leave at any time
    response.on('error', () => {});
    let body = '';
    request.setEncoding('utf8').on('data', (piece) => (body += piece));
    await once(request, 'end');
    const answer = this.#answers[Math.min(this.requests.length, this.#answers.length - 1)];
    const seen = { path: request.url, headers: request.headers, body: body && JSON.parse(body) };
    this.requests.push(seen);
    this.arrival(this.requests.length);
    this.#arrivals[this.requests.length].resolve();
    answer(response, seen);
  }
}

/** An answer whose moment the test chooses: with `release()`. `left` is fulfilled when the gateway leaves before. */
export function held(answer) {
  const released = deferred();
  const left = deferred();
  const waiting = (response, request) => {
    response.on('close', () => response.writableFinished || left.resolve());
    released.promise.then(() => answer(response, request));
  };
  return Object.assign(waiting, { release: released.resolve, left: left.promise });
}

/** A stream that the test writes piece by piece, as an answer; what is sent before the request comes is sent with it. */
export function openStream(...frames) {
  const begun = deferred();
  const left = deferred();
  const answer = (response) => {
    response.on('close', () => response.writableFinished || left.resolve());
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(frames.join(''));
    begun.resolve(response);
  };
  const after = (action) => begun.promise.then(action);
  return Object.assign(answer, {
    left: left.promise, // fulfilled when the gateway leaves before the end
    send: (...more) => after((response) => response.write(more.join(''))),
    end: () => after((response) => response.end()), // a body that is whole, whatever is in it
    reset: () => after((response) => response.socket.resetAndDestroy()),
  });
}
