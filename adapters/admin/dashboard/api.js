// The admin API. Addresses are relative to the page, so that it may live behind a proxy's prefix.

const patience = 10_000; // ms for a whole answer

/** What to tell the person; `status` is 0 when there was no answer. */
export class ApiError extends Error {
  constructor(message, status = 0) {
    super(message);
    this.status = status;
  }
}

/** Asks with the token, when there is one. `askToken(refused)` gets one from the person; it is called once at a time. */
export class Api {
  #askToken;
  #asking = null;
  #skew = 0;

  constructor(askToken) {
    this.#askToken = askToken;
  }

  get token() {
    return sessionStorage.getItem('switchyard-admin-token');
  }

  forgetToken() {
    sessionStorage.removeItem('switchyard-admin-token');
  }

  /** The gateway's time in Unix milliseconds, within a second: the browser's clock may be another. */
  now() {
    return Date.now() + this.#skew;
  }

  async get(path) {
    return (await this.#ask(path, {})).json();
  }

  async post(path, body) {
    return (await this.#ask(path, { method: 'POST', body: JSON.stringify(body) })).json();
  }

  /** An answer without an end, until `signal`. */
  async open(path, signal) {
    return (await this.#ask(path, { signal })).body;
  }

  // Asks again for as long as the person gives other tokens.
  async #ask(path, options) {
    for (;;) {
      const token = this.token;
      const answer = await this.#fetch(path, options, token);
      if (answer.ok) return answer;
      const problem = new ApiError(await messageOf(answer), answer.status);
      if (answer.status !== 401) throw problem;
      await this.#needToken(token);
      if (options.method === 'POST') throw new ApiError('The token was missing or wrong. Nothing was changed; try again.', 401);
    }
  }

  async #fetch(path, options, token) {
    try {
      const headers = token ? { Authorization: `Bearer ${token}` } : {};
      const answer = await fetch(path, { signal: AbortSignal.timeout(patience), ...options, cache: 'no-store', headers });
      const date = Date.parse(answer.headers.get('Date'));
      if (Number.isFinite(date)) this.#skew = date + 500 - Date.now(); // Date has whole seconds
      return answer;
    } catch (error) {
      throw new ApiError(error.name === 'TimeoutError' ? 'The gateway does not answer.' : 'The gateway cannot be reached.');
    }
  }

  // Many requests may find out at the same time that the token is missing; the person is asked once.
  #needToken(refused) {
    if (this.token !== refused) return Promise.resolve(); // there is another one by now
    this.#asking ??= this.#askToken(refused !== null)
      .then((token) => sessionStorage.setItem('switchyard-admin-token', token))
      .finally(() => (this.#asking = null));
    return this.#asking;
  }
}

async function messageOf(answer) {
  try {
    const { error } = await answer.json();
    if (error?.message) return error.message;
  } catch {
    // No JSON: a proxy's answer, say.
  }
  return `The gateway answers with status ${answer.status}.`;
}
