import assert from 'node:assert/strict';

import { chat, content, failure as failed, responseOpening, responseText, role } from '../support/answers.mjs';
import { countingFetch, drain, errorOf, within } from '../support/expect.mjs';
import { faulty } from '../support/faulty_provider.mjs';
import { gatewayTest } from '../support/gateway_test.mjs';
import { held, openStream, scripted } from '../support/scripted_provider.mjs';
import { breaks } from './broken_stream.mjs';

/** What only the `openai` package does. */
export function openaiOnly(client) {
  surface(client);
  responses(client);
  retries(client);
}

const messages = [{ role: 'user', content: 'hello' }];

function surface(client) {
  gatewayTest(`${client.name}: the models are the routes`, { primary: faulty(), backup: faulty() }, async ({ url }) => {
    const ids = [];
    for await (const model of client.open(url).models.list()) ids.push(model.id);
    assert.deepEqual(ids.sort(), ['chat', 'spare']);
    assert.equal((await client.open(url).models.retrieve('spare')).id, 'spare');
  });

  gatewayTest(`${client.name}: the request id is that of the gateway's answer`, { primary: faulty() }, async ({ url }) => {
    const headers = { 'X-Request-Id': 'request-17' };
    const answer = await client.open(url).chat.completions.create({ model: 'chat', messages }, { headers });
    assert.equal(answer._request_id, 'request-17');
  });

  gatewayTest(`${client.name}: an unknown model is its error 404`, { primary: faulty() }, async ({ url, primary }) => {
    const error = await errorOf(client.open(url).chat.completions.create({ model: 'none', messages }));
    assert.deepEqual([error.constructor.name, error.status, error.code], ['NotFoundError', 404, 'unknown_route']);
    assert.equal(await primary.count(), 0);
  });

  const upstream = openStream(role(), content('Once '));
  gatewayTest(`${client.name}: the final answer of a cut stream is an error [S2]`, { primary: scripted(upstream) }, async ({ url }) => {
    const library = client.open(url);
    const { completions } = 'stream' in library.chat.completions ? library.chat : library.beta.chat; // moved in version 5
    const stream = completions.stream({ model: 'chat', messages });
    stream.once('content', () => upstream.end());
    assert.equal((await errorOf(within(stream.finalChatCompletion(), 'the stream ends'))).code, 'upstream_cut');
  });
}

function responses({ name, open }) {
  const streamed = async function* (url) {
    const stream = await open(url).responses.create({ model: 'chat', input: 'hello there', stream: true });
    for await (const event of stream) if (event.type === 'response.output_text.delta') yield event.delta;
  };

  gatewayTest(`${name}: a response is answered, with usage`, { primary: faulty() }, async ({ url }) => {
    const response = await open(url).responses.create({ model: 'chat', input: 'hello there' });
    assert.equal(response.output_text, 'You said: hello there');
    assert.equal(response.usage.output_tokens, 4);
  });

  gatewayTest(`${name}: a streamed response is answered, with usage`, { primary: faulty() }, async ({ url }) => {
    const final = await open(url).responses.stream({ model: 'chat', input: 'hello there' }).finalResponse();
    assert.equal(final.status, 'completed');
    assert.equal(final.output[0].content[0].text, 'You said: hello there');
    assert.equal(final.usage.output_tokens, 4);
  });

  const refusing = { stream: { faults: { error_event: { after: 'head' } } } };
  gatewayTest(`${name}: another provider streams a response when the first begins with an error event [S1]`,
    { primary: faulty(refusing), backup: faulty() }, async ({ url, primary }) => {
      assert.deepEqual(await drain(streamed(url)), { text: 'You said: hello there' });
      assert.equal(await primary.count(), 1);
    });

  for (const [what, { act, code, timeouts = {} }] of Object.entries(breaks)) {
    const upstream = openStream(responseOpening(), responseText('Once '));
    const setup = { primary: scripted(upstream), settings: { timeouts } };
    gatewayTest(`${name}: a streamed response that ${what} after its first token raises an error [S2]`, setup, async ({ url }) => {
      const { text, error } = await within(drain(streamed(url), () => act(upstream)), 'the stream ends');
      assert.equal(text, 'Once ');
      assert.equal(error?.code, code);
    });
  }
}

function retries({ name, connect, failure, fetch }) {
  const retrying = (url) => {
    const counting = countingFetch(fetch);
    return { counting, client: connect(url, { maxRetries: 2, fetch: counting }) };
  };

  const stubborn = { primary: scripted(failed(500)), retry: { max_attempts: 2, base_delay: '10ms' } };
  gatewayTest(`${name}: it does not repeat what the gateway has retried`, stubborn, async ({ url, primary }) => {
    const { client, counting } = retrying(url);
    assert.equal(failure(await errorOf(client.chat('hello'))).status, 500);
    assert.equal(counting.calls, 1);
    assert.equal(await primary.count(), 2);
  });

  const advising = { primary: scripted(failed(429, { 'x-should-retry': 'false' })) };
  gatewayTest(`${name}: it heeds a provider that says not to retry`, advising, async ({ url, primary }) => {
    const { client } = retrying(url);
    assert.equal(failure(await errorOf(client.chat('hello'))).status, 429);
    assert.equal(await primary.count(), 1);
  });

  const opened = { consecutive_failures: 1, cooldown: '60s' };
  const both = { primary: scripted(failed(500)), backup: scripted(failed(500)), circuit: opened };
  gatewayTest(`${name}: it does not wait for circuits that are open for long`, both, async ({ url }) => {
    await errorOf(connect(url).chat('hello'));
    const { client, counting } = retrying(url);
    const seen = failure(await within(errorOf(client.chat('hello')), 'the error comes'));
    assert.deepEqual([seen.status, seen.code, seen.header('x-should-retry')], [503, 'fallback_exhausted', 'false']);
    assert.equal(counting.calls, 1);
  });

  const slow = held(chat('found again'));
  gatewayTest(`${name}: a retry after its time-out joins the call of its key [I7]`, { primary: scripted(slow) }, async ({ url, primary }) => {
    const counting = countingFetch(fetch, (call) => call === 2 && slow.release());
    const client = connect(url, { maxRetries: 5, timeout: 2000, fetch: counting });
    const answer = await client.chat('hello', { headers: { 'Idempotency-Key': 'order-1' } });
    assert.equal(answer.text, 'found again');
    assert.equal(answer.header('idempotency-replayed'), 'true');
    assert.ok(counting.calls >= 2);
    assert.equal(await primary.count(), 1);
  });
}
