import assert from 'node:assert/strict';

import { content, role } from '../support/answers.mjs';
import { drain } from '../support/expect.mjs';
import { load } from '../support/packages.mjs';
import { gatewayTest } from '../support/gateway_test.mjs';
import { openStream, scripted } from '../support/scripted_provider.mjs';

const { streamText } = load('ai');

/** What only the AI SDK does. */
export function aiSdkOnly({ name, provider }) {
  const upstream = openStream(role(), content('Once '));
  gatewayTest(`${name}: who reads only the text of a cut stream learns it from onError and the finish reason [S2]`,
    { primary: scripted(upstream) }, async ({ url }) => {
      const errors = [];
      const onError = ({ error }) => errors.push(error);
      const result = streamText({ model: provider(url).chatModel('chat'), prompt: 'hello', maxRetries: 0, onError });
      assert.deepEqual(await drain(result.textStream, () => upstream.reset()), { text: 'Once ' });
      assert.deepEqual(errors.map(({ code }) => code), ['upstream_cut']);
      assert.equal(await result.finishReason, 'error');
    });
}
