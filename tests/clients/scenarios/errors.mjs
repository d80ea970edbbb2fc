import assert from 'node:assert/strict';

import { chat, failure as failed } from '../support/answers.mjs';
import { countingFetch, errorOf } from '../support/expect.mjs';
import { gatewayTest } from '../support/gateway_test.mjs';
import { scripted } from '../support/scripted_provider.mjs';

/** Errors that end a request, as the user and the library's own retries see them. */
export function errors({ name, connect, failure, fetch }) {
  const limited = failed(429, { 'retry-after': '7', 'x-ratelimit-remaining-requests': '0' }, 'rate_limit_exceeded');

  const strict = { primary: scripted(limited) };
  gatewayTest(`${name}: the only provider's 429 arrives with its headers [R4]`, strict, async ({ url, primary }) => {
    const seen = failure(await errorOf(connect(url).chat('hello')));
    assert.equal(seen.status, 429);
    assert.equal(seen.code, 'rate_limit_exceeded');
    assert.equal(seen.header('retry-after'), '7');
    assert.equal(seen.header('x-ratelimit-remaining-requests'), '0');
    assert.equal(await primary.count(), 1);
  });

  const shortly = { primary: scripted(failed(429, { 'retry-after-ms': '20' }), chat('at last')) };
  gatewayTest(`${name}: its own retry outlives a 429`, shortly, async ({ url, primary }) => {
    const counting = countingFetch(fetch);
    const { text } = await connect(url, { maxRetries: 2, fetch: counting }).chat('hello');
    assert.equal(text, 'at last');
    assert.equal(counting.calls, 2);
    assert.equal(await primary.count(), 2);
  });

  const always = { primary: scripted(failed(429, { 'retry-after-ms': '20' })) };
  gatewayTest(`${name}: its own retries end`, always, async ({ url, primary }) => {
    const seen = failure(await errorOf(connect(url, { maxRetries: 2 }).chat('hello')));
    assert.equal(seen.status, 429);
    assert.equal(await primary.count(), 3);
  });

  const brief = { primary: scripted(failed(500), chat('well again')), circuit: { consecutive_failures: 1, cooldown: '1s' } };
  gatewayTest(`${name}: its own retries outlive a cooldown [C8]`, brief, async ({ url, primary }) => {
    const { text } = await connect(url, { maxRetries: 6 }).chat('hello');
    assert.equal(text, 'well again');
    assert.equal(await primary.count(), 2); // whatever met the open circuit reached no provider
  });

  gatewayTest(`${name}: its own retry outlives an open circuit`, { primary: scripted(chat('closed again')) }, async (stack) => {
    await stack.setMode('forced_open');
    const counting = countingFetch(fetch, (call) => call === 2 && stack.setMode('auto'));
    const { text } = await connect(stack.url, { maxRetries: 2, fetch: counting }).chat('hello');
    assert.equal(text, 'closed again');
    assert.equal(counting.calls, 2);
    assert.equal(await stack.primary.count(), 1);
  });

  const opened = { consecutive_failures: 1, cooldown: '60s' };
  const expectLongWait = (seen, code) => {
    assert.equal(seen.status, 503);
    assert.equal(seen.code, code);
    const wait = Number(seen.header('retry-after'));
    assert.ok(wait > 0 && wait <= 60, `Retry-After: ${wait}`);
  };

  const one = { primary: scripted(failed(500)), circuit: opened };
  gatewayTest(`${name}: an open circuit is told, with its wait [C11]`, one, async ({ url, primary }) => {
    const client = connect(url);
    assert.equal(failure(await errorOf(client.chat('hello'))).status, 500);
    expectLongWait(failure(await errorOf(client.chat('hello'))), 'circuit_open');
    assert.equal(await primary.count(), 1);
  });

  const both = { primary: scripted(failed(500)), backup: scripted(failed(500)), circuit: opened };
  gatewayTest(`${name}: all circuits open is told, with the smallest wait [B5]`, both, async ({ url, primary, backup }) => {
    const client = connect(url);
    const first = failure(await errorOf(client.chat('hello')));
    assert.deepEqual([first.status, first.code], [502, 'fallback_exhausted']);
    expectLongWait(failure(await errorOf(client.chat('hello'))), 'fallback_exhausted');
    assert.deepEqual([await primary.count(), await backup.count()], [1, 1]);
  });
}
