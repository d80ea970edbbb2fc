import { load } from '../support/packages.mjs';

const { embedMany, generateText, jsonSchema, stepCountIs, streamText, tool: makeTool } = load('ai');
const { createOpenAICompatible } = load('@ai-sdk/openai-compatible');

const provider = (url, { fetch } = {}) => createOpenAICompatible({ name: 'switchyard', baseURL: url, includeUsage: true, fetch });

/** The AI SDK, behind the interface that the scenarios use. */
export const aiSdk = {
  name: 'ai sdk',
  provider,
  connect(url, { maxRetries = 0, timeout, ...options } = {}) {
    const model = provider(url, options).chatModel('chat');
    const limit = () => (timeout ? AbortSignal.timeout(timeout) : undefined);
    const call = (prompt, { headers, signal } = {}) => ({ model, prompt, maxRetries, headers, abortSignal: signal ?? limit() });
    const figures = ({ inputTokens: input, outputTokens: output }) => ({ input, output });
    return {
      async chat(prompt, options) {
        const { text, usage, response } = await generateText(call(prompt, options));
        return { text, usage: figures(usage), header: (key) => response.headers[key] };
      },
      async *stream(prompt, options, onUsage = () => {}) {
        // The error comes as a part of the stream; `onError` would print it as well.
        for await (const part of streamText({ ...call(prompt, options), onError() {} }).fullStream) {
          if (part.type === 'error') throw part.error;
          if (part.type === 'abort') throw Object.assign(new Error('aborted'), { name: 'AbortError' });
          if (part.type === 'finish') onUsage(figures(part.totalUsage));
          if (part.type === 'text-delta') yield part.text;
        }
      },
    };
  },
  /** Has the library call the tool; gives the final answer. */
  async useTool(url, prompt, { name, description, parameters, run }, { streamed }) {
    const tools = { [name]: makeTool({ description, inputSchema: jsonSchema(parameters), execute: run }) };
    const request = { model: provider(url).chatModel('chat'), prompt, tools, stopWhen: stepCountIs(2), maxRetries: 0 };
    return streamed ? streamText(request).text : (await generateText(request)).text;
  },
  async embed(url, values) {
    const { embeddings } = await embedMany({ model: provider(url).textEmbeddingModel('chat'), values, maxRetries: 0 });
    return embeddings;
  },
  failure(error) {
    const last = error.lastError ?? error; // its retries wrap what they met; in a stream it is the error object of the event
    return { status: last.statusCode, code: last.data?.error.code ?? last.code, header: (key) => last.responseHeaders?.[key] };
  },
};
