import { Program } from './program.mjs';

/** The project's own faulty provider; `script` as in examples/faulty_provider/README.md. For `gatewayTest`. */
export const faulty =
  (script = {}) =>
  async (name) => {
    const program = await Program.start(process.env.SWITCHYARD_FAULTY_PROVIDER, ['--name', name]);
    const provider = new FaultyProvider(program);
    await provider.script(script);
    return provider;
  };

class FaultyProvider {
  constructor(program) {
    this.program = program;
    this.url = program.urls.provider;
  }

  script(script) {
    return this.#control('PUT', 'script', script);
  }

  /** How many requests it has seen. */
  async count() {
    return (await this.#control('GET', 'stats')).requests;
  }

  stop() {
    return this.program.stop();
  }

  async #control(method, path, body) {
    const answer = await fetch(`${this.url}/control/${path}`, { method, body: body && JSON.stringify(body) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${text}`);
    return JSON.parse(text || '{}');
  }
}
