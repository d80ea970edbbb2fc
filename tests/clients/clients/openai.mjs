import { load } from '../support/packages.mjs';

/** The `openai` package in one of its versions, behind the interface that the scenarios use. */
export function openai(name, packageName) {
  const { OpenAI } = load(packageName);

  const open = (url, options = {}) => new OpenAI({ baseURL: url, apiKey: 'unused', maxRetries: 0, ...options });

  return {
    name,
    open,
    connect(url, options) {
      const client = open(url, options);
      const request = (prompt) => ({ model: 'chat', messages: [{ role: 'user', content: prompt }] });
      return {
        async chat(prompt, options) {
          const { data, response } = await client.chat.completions.create(request(prompt), options).withResponse();
          const { prompt_tokens: input, completion_tokens: output } = data.usage;
          return { text: data.choices[0].message.content, usage: { input, output }, header: (key) => response.headers.get(key) };
        },
        async *stream(prompt, options, onUsage = () => {}) {
          const body = { ...request(prompt), stream: true, stream_options: { include_usage: true } };
          for await (const chunk of await client.chat.completions.create(body, options)) {
            if (chunk.usage) onUsage({ input: chunk.usage.prompt_tokens, output: chunk.usage.completion_tokens });
            yield chunk.choices[0]?.delta.content ?? '';
          }
        },
      };
    },
    /** Has the library call the tool; gives the final answer. */
    async useTool(url, prompt, { run, ...tool }, { streamed }) {
      const client = open(url);
      const { completions } = 'runTools' in client.chat.completions ? client.chat : client.beta.chat; // moved in version 5
      const tools = [{ type: 'function', function: { ...tool, function: run, parse: JSON.parse } }];
      const messages = [{ role: 'user', content: prompt }];
      return completions.runTools({ model: 'chat', stream: streamed, tools, messages }).finalContent();
    },
    async embed(url, input) {
      const { data } = await open(url).embeddings.create({ model: 'chat', input }); // asks for base64
      return data.map(({ embedding }) => Array.from(embedding));
    },
    /** What a user of the library can tell from an error; `headers` are a plain object in version 4. */
    failure: (error) => ({
      status: error.status,
      code: error.code,
      header: (key) => error.headers?.get?.(key) ?? error.headers?.[key],
    }),
  };
}
