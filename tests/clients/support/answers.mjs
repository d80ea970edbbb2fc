// What a provider says, in the form of the API.

const model = 'upstream-model';
export const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };

const message = (content, finish_reason = 'stop') => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model,
  choices: [{ index: 0, message: { role: 'assistant', ...content }, finish_reason }],
  usage,
});

/** An answer for `scripted`. */
export const json =
  (body, status = 200, headers = {}) =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));

export const chat = (content) => json(message({ content }));

export const failure = (status, headers = {}, code = 'upstream_trouble') =>
  json({ error: { message: `the provider says ${status}`, type: 'server_error', code, param: null } }, status, headers);

/** A call of a tool, as an answer. */
export const toolCall = (name, args) =>
  json(
    message(
      { content: null, tool_calls: [{ id: 'call_1', type: 'function', function: { name, arguments: JSON.stringify(args) } }] },
      'tool_calls',
    ),
  );

/** Of each input the vector, in the encoding that the request asks for. */
export const embeddings =
  (...vectors) =>
  (response, request) => {
    const encode = (vector) => (request.body.encoding_format === 'base64' ? base64(vector) : vector);
    const data = vectors.map((vector, index) => ({ object: 'embedding', index, embedding: encode(vector) }));
    json({ object: 'list', model, data, usage: { prompt_tokens: 3, total_tokens: 3 } })(response);
  };
const base64 = (vector) => Buffer.from(Float32Array.from(vector).buffer).toString('base64');

// ---- streams of a chat: each function gives one event ----------------------------------------------------------

const frame = (data) => `data: ${JSON.stringify(data)}\n\n`;
const chunk = (delta, finish_reason = null) =>
  frame({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model, choices: [{ index: 0, delta, finish_reason }] });

export const role = () => chunk({ role: 'assistant', content: '' });
export const content = (text) => chunk({ content: text });
export const finish = (reason = 'stop') => chunk({}, reason);
export const usageChunk = () => frame({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model, choices: [], usage });
export const done = () => 'data: [DONE]\n\n';

const stream =
  (...frames) =>
  (response) =>
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(frames.join(''));

export const chatStream = (...texts) => stream(role(), ...texts.map(content), finish(), usageChunk(), done());

/** A streamed call of a tool, its arguments in several pieces. */
export function toolCallStream(name, args) {
  const text = JSON.stringify(args);
  const half = Math.ceil(text.length / 2);
  const piece = (call) => chunk({ tool_calls: [{ index: 0, ...call }] });
  return stream(
    role(),
    piece({ id: 'call_1', type: 'function', function: { name, arguments: '' } }),
    piece({ function: { arguments: text.slice(0, half) } }),
    piece({ function: { arguments: text.slice(half) } }),
    finish('tool_calls'),
    usageChunk(),
    done(),
  );
}

// ---- streams of a response -------------------------------------------------------------------------------------

const typed = (type, rest) => `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`;
const part = { type: 'output_text', text: '', annotations: [] };
const item = { id: 'msg_1', type: 'message', status: 'in_progress', role: 'assistant', content: [] };
const at = { item_id: 'msg_1', output_index: 0, content_index: 0 };

/** The events of a response until it has content. */
export const responseOpening = () =>
  typed('response.created', {
    sequence_number: 0,
    response: { id: 'resp_1', object: 'response', created_at: 1, model, status: 'in_progress', output: [] },
  }) +
  typed('response.output_item.added', { sequence_number: 1, output_index: 0, item }) +
  typed('response.content_part.added', { sequence_number: 2, ...at, part });
export const responseText = (delta, sequence_number = 3) =>
  typed('response.output_text.delta', { sequence_number, ...at, delta, logprobs: [] });
