import { load } from '../support/packages.mjs';

const { HumanMessage, ToolMessage } = load('@langchain/core/messages');
const { ChatOpenAI, OpenAIEmbeddings } = load('@langchain/openai');

const chatModel = (url, { fetch, maxRetries = 0, ...options } = {}) =>
  new ChatOpenAI({ model: 'chat', apiKey: 'unused', maxRetries, ...options, configuration: { baseURL: url, fetch } });

/** LangChain, behind the interface that the scenarios use. */
export const langchain = {
  name: 'langchain',
  chatModel,
  connect(url, { fetch = globalThis.fetch, ...options } = {}) {
    let headers; // its answers do not show them
    const noting = async (...args) => {
      const response = await fetch(...args);
      headers = response.headers;
      return response;
    };
    const model = chatModel(url, { ...options, fetch: noting });
    const call = ({ headers, signal } = {}) => ({ signal, options: { headers } });
    const figures = ({ input_tokens: input, output_tokens: output }) => ({ input, output });
    return {
      async chat(prompt, options) {
        const { text, usage_metadata } = await model.invoke(prompt, call(options));
        const own = headers;
        return { text, usage: figures(usage_metadata), header: (key) => own.get(key) };
      },
      async *stream(prompt, options, onUsage = () => {}) {
        for await (const chunk of await model.stream(prompt, call(options))) {
          if (chunk.usage_metadata) onUsage(figures(chunk.usage_metadata));
          yield chunk.text;
        }
      },
    };
  },
  /** Calls the tool; gives the final answer. */
  async useTool(url, prompt, { name, description, parameters, run }, { streamed }) {
    const model = chatModel(url).bindTools([{ type: 'function', function: { name, description, parameters } }]);
    const ask = async (messages) => {
      if (!streamed) return model.invoke(messages);
      let whole;
      for await (const chunk of await model.stream(messages)) whole = whole?.concat(chunk) ?? chunk;
      return whole;
    };
    const question = new HumanMessage(prompt);
    const calling = await ask([question]);
    const [call] = calling.tool_calls;
    const result = new ToolMessage({ tool_call_id: call.id, content: run(call.args) });
    const { text } = await ask([question, calling, result]);
    return text;
  },
  embed: (url, texts) =>
    new OpenAIEmbeddings({ model: 'chat', apiKey: 'unused', maxRetries: 0, configuration: { baseURL: url } }).embedDocuments(texts),
  failure: (error) => ({ status: error.status, code: error.code, header: (key) => error.headers?.get(key) }),
};
