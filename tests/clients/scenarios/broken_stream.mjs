import assert from 'node:assert/strict';

import { chatStream, content, role } from '../support/answers.mjs';
import { drain, within } from '../support/expect.mjs';
import { gatewayTest } from '../support/gateway_test.mjs';
import { openStream, scripted } from '../support/scripted_provider.mjs';

/** Each: what the provider does once its first token has reached the user, and the code by which the user is told. */
export const breaks = {
  'is reset': { act: (upstream) => upstream.reset(), code: 'upstream_cut' },
  'is reset amid an event': {
    act: async (upstream) => {
      await upstream.send(content('never whole').slice(0, 40));
      await upstream.reset();
    },
    code: 'upstream_cut',
  },
  'ends without a finish': { act: (upstream) => upstream.end(), code: 'upstream_cut' },
  'stalls': { act: () => {}, code: 'upstream_stalled', timeouts: { idle: '1s' } },
  'has a malformed event': { act: (upstream) => upstream.send('data: {"choices":[{"del\n\n'), code: 'upstream_invalid' },
};

/** The provider fails after the first token: no other may go on, and the user must not take the answer for whole [S2]. */
export function brokenStream({ name, connect, failure }) {
  for (const [what, { act, code, timeouts = {} }] of Object.entries(breaks)) {
    const upstream = openStream(role(), content('Once '));
    const setup = {
      primary: scripted(upstream),
      backup: scripted(chatStream('another answer')),
      settings: { timeouts },
    };
    gatewayTest(`${name}: a stream that ${what} after its first token raises an error [S2]`, setup, async ({ url, backup }) => {
      const onText = (text) => text === 'Once ' && act(upstream);
      const { text, error } = await within(drain(connect(url).stream('hello'), onText), 'the stream ends');
      assert.equal(text, 'Once ');
      assert.ok(error, 'the stream ended as if it were whole');
      assert.equal(failure(error).code, code);
      assert.equal(await backup.count(), 0);
    });
  }
}
