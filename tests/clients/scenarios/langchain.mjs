import assert from 'node:assert/strict';

import { responseOpening, responseText } from '../support/answers.mjs';
import { drain } from '../support/expect.mjs';
import { faulty } from '../support/faulty_provider.mjs';
import { gatewayTest } from '../support/gateway_test.mjs';
import { openStream, scripted } from '../support/scripted_provider.mjs';

/** What only LangChain does: the same model, spoken to through the API of responses. */
export function langchainOnly({ name, chatModel, failure }) {
  const streamed = async function* (url) {
    for await (const chunk of await chatModel(url, { useResponsesApi: true }).stream('hello there')) yield chunk.text;
  };

  gatewayTest(`${name}: a response is answered, with usage`, { primary: faulty() }, async ({ url }) => {
    const answer = await chatModel(url, { useResponsesApi: true }).invoke('hello there');
    assert.equal(answer.text, 'You said: hello there');
    assert.equal(answer.usage_metadata.output_tokens, 4);
  });

  gatewayTest(`${name}: a streamed response is answered`, { primary: faulty() }, async ({ url }) => {
    assert.deepEqual(await drain(streamed(url)), { text: 'You said: hello there' });
  });

  const upstream = openStream(responseOpening(), responseText('Once '));
  gatewayTest(`${name}: a streamed response that is cut raises an error [S2]`, { primary: scripted(upstream) }, async ({ url }) => {
    const { text, error } = await drain(streamed(url), (soFar) => soFar === 'Once ' && upstream.end());
    assert.equal(text, 'Once ');
    assert.equal(failure(error ?? {}).code, 'upstream_cut');
  });
}
