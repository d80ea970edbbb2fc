import assert from 'node:assert/strict';

import { chat, chatStream, embeddings, toolCall, toolCallStream } from '../support/answers.mjs';
import { drain } from '../support/expect.mjs';
import { faulty } from '../support/faulty_provider.mjs';
import { gatewayTest } from '../support/gateway_test.mjs';
import { scripted } from '../support/scripted_provider.mjs';

const weather = {
  name: 'weather',
  description: 'the weather of a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false },
  run: ({ city }) => `rain in ${city}`,
};
const question = { city: 'Tromsø' };

// The second request tells the provider what the first one's tool call gave.
function expectRoundTrip(requests) {
  assert.equal(requests.length, 2);
  const [{ function: offered }] = requests[0].body.tools;
  assert.equal(offered.name, weather.name);
  assert.deepEqual(offered.parameters.properties, weather.parameters.properties);
  const [call, result] = requests[1].body.messages.slice(-2);
  assert.equal(call.tool_calls[0].id, 'call_1');
  assert.deepEqual(JSON.parse(call.tool_calls[0].function.arguments), question);
  assert.deepEqual([result.role, result.tool_call_id, result.content], ['tool', 'call_1', 'rain in Tromsø']);
}

/** Nothing fails. */
export function service({ name, connect, useTool, embed }) {
  gatewayTest(`${name}: a chat is answered, with usage`, { primary: faulty() }, async ({ url, primary }) => {
    const answer = await connect(url).chat('hello there');
    assert.equal(answer.text, 'You said: hello there');
    assert.equal(answer.usage.output, 4);
    assert.ok(answer.usage.input > 0);
    assert.equal(answer.header('x-switchyard-provider'), 'primary');
    assert.equal(await primary.count(), 1);
  });

  gatewayTest(`${name}: a stream is answered, with usage`, { primary: faulty() }, async ({ url }) => {
    let usage;
    const { text, error } = await drain(connect(url).stream('hello there', {}, (figures) => (usage = figures)));
    assert.ifError(error);
    assert.equal(text, 'You said: hello there');
    assert.equal(usage.output, 4);
    assert.ok(usage.input > 0);
  });

  const calling = { primary: scripted(toolCall('weather', question), chat('Take an umbrella')) };
  gatewayTest(`${name}: a tool is called and its result sent back`, calling, async ({ url, primary }) => {
    assert.equal(await useTool(url, 'What to wear?', weather, { streamed: false }), 'Take an umbrella');
    expectRoundTrip(primary.requests);
  });

  const streaming = { primary: scripted(toolCallStream('weather', question), chatStream('Take an ', 'umbrella')) };
  gatewayTest(`${name}: a streamed tool call is put together and its result sent back`, streaming, async ({ url, primary }) => {
    assert.equal(await useTool(url, 'What to wear?', weather, { streamed: true }), 'Take an umbrella');
    expectRoundTrip(primary.requests);
  });

  const vectors = [[0.5, -0.25], [1, 0]]; // exact in 32 bits
  gatewayTest(`${name}: embeddings arrive`, { primary: scripted(embeddings(...vectors)) }, async ({ url, primary }) => {
    assert.deepEqual(await embed(url, ['one', 'two']), vectors);
    assert.deepEqual(primary.requests[0].body.input, ['one', 'two']);
    assert.equal(primary.requests[0].body.model, 'upstream-model');
  });
}
