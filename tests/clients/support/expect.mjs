import assert from 'node:assert/strict';

/** What `promise` becomes. Rejects when that takes longer than any healthy machine needs. */
export async function within(promise, what, milliseconds = 20_000) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${milliseconds} ms: ${what}`)), milliseconds);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The error that `promise` rejects with. */
export async function errorOf(promise) {
  let value;
  try {
    value = await promise;
  } catch (error) {
    return error;
  }
  assert.fail(`no error, but ${JSON.stringify(value)}`);
}

/** What a stream of texts gives until it ends or throws: the text and the error, if any. `onText` is told the text so far. */
export async function drain(stream, onText = () => {}) {
  let text = '';
  try {
    for await (const piece of stream) {
      text += piece;
      onText(text);
    }
  } catch (error) {
    return { text, error };
  }
  return { text };
}

/** A promise and the functions that settle it. */
export function deferred() {
  const own = {};
  own.promise = new Promise((resolve, reject) => Object.assign(own, { resolve, reject }));
  return own;
}

/**
 * A `fetch` that counts in `calls` how often the client library used it. `onCall` is told each number, from 1, and waited
 * for before the request goes out.
 */
export function countingFetch(fetch = globalThis.fetch, onCall = () => {}) {
  const counting = async (...args) => {
    await onCall(++counting.calls);
    return fetch(...args);
  };
  counting.calls = 0;
  return counting;
}
