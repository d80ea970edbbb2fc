import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';

import { Program } from './program.mjs';

/**
 * A test with a gateway of its own in front of the providers `primary` and, if given, `backup` (see `faulty`, `scripted`).
 * The model is `chat`. Other options: `settings` of the primary provider, `circuit`, `retry` of the route `chat`.
 * `body` gets the gateway's `url`, for a client's `baseURL`, and the providers.
 */
export function gatewayTest(name, options, body) {
  test(name, { timeout: 90_000 }, async (t) => {
    const stack = new Stack();
    t.signal.addEventListener('abort', () => stack.stop().catch(() => {})); // out of time: ends what the test waits for
    try {
      await stack.start(options);
      await body(stack);
    } catch (error) {
      t.diagnostic(`log of the gateway of "${name}":\n${stack.gateway?.log}`);
      throw error;
    } finally {
      await stack.stop();
    }
  });
}

class Stack {
  async start({ primary, backup, ...options }) {
    this.primary = await primary('primary');
    this.backup = await backup?.('backup');
    this.folder = await mkdtemp(join(tmpdir(), 'switchyard-clients-'));
    const file = join(this.folder, 'gateway.json');
    await writeFile(file, JSON.stringify(this.#configuration(options)));
    const data = join(this.folder, 'data');
    this.gateway = await Program.start(process.env.SWITCHYARD_GATEWAY, ['--config', file, '--data-dir', data]);
    this.url = `${this.gateway.urls.gateway}/v1`;
  }

  /** What an operator does with the circuit of `primary`: `forced_open` or, as at first, `auto`. */
  async setMode(mode) {
    const url = `${this.gateway.urls.admin}/admin/circuits/primary`;
    const answer = await fetch(url, { method: 'POST', body: JSON.stringify({ mode }) });
    if (!answer.ok) throw new Error(`mode ${mode}: ${await answer.text()}`);
    await answer.text();
  }

  /** Ends the programs in an order that leaves no request waiting, and removes the files. */
  stop() {
    return (this.stopped ??= this.#stop());
  }

  async #stop() {
    try {
      await this.gateway?.stop();
    } finally {
      await this.primary?.stop();
      await this.backup?.stop();
      if (this.folder) await rm(this.folder, { recursive: true, force: true });
    }
  }

  #configuration({ settings, circuit, retry }) {
    const configuration = {
      // The tests that are not about circuits must not meet an open one.
      circuits: { default: { consecutive_failures: 1000, ...circuit } },
      providers: { primary: { base_url: `${this.primary.url}/v1`, ...settings } },
      routes: { chat: { provider: 'primary', model: 'upstream-model', retry: { max_attempts: 1, ...retry } } },
      gateway: { listen: '127.0.0.1:0', shutdown_grace: '100ms' },
      admin: { listen: '127.0.0.1:0' },
    };
    if (this.backup) {
      configuration.providers.backup = { base_url: `${this.backup.url}/v1` };
      configuration.routes.spare = { provider: 'backup', model: 'backup-model', retry: { max_attempts: 1 } };
      configuration.routes.chat.fallback = ['spare'];
    }
    return configuration;
  }
}
