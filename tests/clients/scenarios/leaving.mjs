import assert from 'node:assert/strict';

import { chat, content, role } from '../support/answers.mjs';
import { drain, errorOf, within } from '../support/expect.mjs';
import { gatewayTest } from '../support/gateway_test.mjs';
import { held, openStream, scripted } from '../support/scripted_provider.mjs';

/** The user no longer wants the answer: the provider must not go on for nobody [S4]. */
export function leaving({ name, connect }) {
  const upstream = openStream(role(), content('Once '));
  const healthy = { primary: scripted(upstream, chat('still here')), circuit: { consecutive_failures: 1 } };
  gatewayTest(`${name}: an aborted stream ends the provider's, and is no failure of it [S4]`, healthy, async ({ url }) => {
    const user = new AbortController();
    await drain(connect(url).stream('hello', { signal: user.signal }), (text) => text === 'Once ' && user.abort());
    await within(upstream.left, 'the provider is left');
    assert.equal((await connect(url).chat('hello')).text, 'still here');
  });

  const slow = held(chat('too late'));
  gatewayTest(`${name}: its own time-out ends the provider's request [S4]`, { primary: scripted(slow) }, async ({ url, primary }) => {
    const error = await errorOf(connect(url, { timeout: 2000 }).chat('hello'));
    assert.match(`${error.name} ${error.message}`, /time/i);
    await within(slow.left, 'the provider is left');
    assert.equal(await primary.count(), 1);
  });

  const answer = held(chat('too late'));
  gatewayTest(`${name}: an aborted chat ends the provider's [S4]`, { primary: scripted(answer) }, async ({ url, primary }) => {
    const user = new AbortController();
    const waiting = errorOf(connect(url).chat('hello', { signal: user.signal }));
    await primary.arrival(1);
    user.abort();
    assert.match((await waiting).message, /abort/i);
    await within(answer.left, 'the provider is left');
  });
}
