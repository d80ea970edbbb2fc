import assert from 'node:assert/strict';

import { chat } from '../support/answers.mjs';
import { errorOf } from '../support/expect.mjs';
import { faulty } from '../support/faulty_provider.mjs';
import { gatewayTest } from '../support/gateway_test.mjs';
import { held, scripted } from '../support/scripted_provider.mjs';

/** The same `Idempotency-Key` twice is one call [I4], [I5]. */
export function idempotency({ name, connect, failure }) {
  const keyed = { headers: { 'Idempotency-Key': 'order-1' } };

  gatewayTest(`${name}: a repeated key gets the stored answer [I5]`, { primary: faulty() }, async ({ url, primary }) => {
    const client = connect(url);
    const first = await client.chat('hello there', keyed);
    const second = await client.chat('hello there', keyed);
    assert.equal(first.header('idempotency-replayed') ?? null, null);
    assert.equal(second.header('idempotency-replayed'), 'true');
    assert.equal(second.header('x-switchyard-attempts'), '0');
    assert.deepEqual([second.text, second.usage], [first.text, first.usage]);
    assert.equal(await primary.count(), 1);
  });

  gatewayTest(`${name}: a key with another payload is refused [I3]`, { primary: faulty() }, async ({ url, primary }) => {
    const client = connect(url);
    await client.chat('hello there', keyed);
    const seen = failure(await errorOf(client.chat('something else', keyed)));
    assert.deepEqual([seen.status, seen.code], [422, 'idempotency_key_reused']);
    assert.equal(await primary.count(), 1);
  });

  const answer = held(chat('one for all'));
  const holding = { primary: scripted(answer) };
  gatewayTest(`${name}: simultaneous requests with one key share a call [I4]`, holding, async ({ url, primary }) => {
    const callers = Array.from({ length: 5 }, () => connect(url).chat('hello', keyed));
    await primary.arrival(1);
    answer.release();
    const answers = await Promise.all(callers);
    assert.ok(answers.every(({ text }) => text === 'one for all'));
    assert.equal(answers.filter((one) => one.header('idempotency-replayed') === 'true').length, 4);
    assert.equal(await primary.count(), 1);
  });
}
