import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';

import { faulty } from '../../clients/support/faulty_provider.mjs';
import { load } from '../../clients/support/packages.mjs';
import { Program } from '../../clients/support/program.mjs';

const { chromium } = load('playwright-core');
const patience = 30_000; // ms: longer than any healthy machine needs

process.env.DASHBOARD_TEST_TOKEN = 'the-right-token';

/**
 * A test with a gateway of its own in front of the faulty providers `primary` and `backup`, and a browser. `options`:
 * `change(configuration)` before the start; `page` for the browser's page (viewport, colorScheme); `expected`, a pattern of
 * what the browser's console may say. Whatever the test, the page may say nothing else there and ask no other host.
 */
export function dashboardTest(name, options, body) {
  test(name, { timeout: 180_000 }, async (t) => {
    const stack = new Stack(options);
    t.signal.addEventListener('abort', () => stack.stop().catch(() => {})); // out of time: ends what the test waits for
    try {
      await stack.start();
      await body(stack);
      assert.deepEqual(stack.complaints, []);
      assert.deepEqual(stack.foreign, []);
    } catch (error) {
      t.diagnostic(`log of the gateway of "${name}":\n${stack.gateway?.log}`);
      throw error;
    } finally {
      await stack.stop();
    }
  });
}

/** Asks `check` again until it neither throws nor says false. */
export async function eventually(check, what = check.toString()) {
  const end = Date.now() + patience;
  for (;;) {
    let last;
    try {
      if ((await check()) !== false) return;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) throw last ?? new Error(`never came true: ${what}`);
    await pause(50); // between two looks at a page that tells nobody when it changes
  }
}

class Stack {
  complaints = []; // of the browser
  foreign = []; // requests to other hosts

  constructor(options) {
    this.options = options;
  }

  async start() {
    this.primary = await faulty()('primary');
    this.backup = await faulty()('backup');
    this.folder = await mkdtemp(join(tmpdir(), 'switchyard-dashboard-'));
    const configuration = this.#configuration();
    this.options.change?.(configuration);
    await writeFile(join(this.folder, 'gateway.json'), JSON.stringify(configuration));
    await this.startGateway('127.0.0.1:0');
    this.browser = await chromium.launch({
      executablePath: process.env.SWITCHYARD_CHROMIUM,
      args: process.getuid() === 0 ? ['--no-sandbox'] : [], // Chromium's sandbox does not work for root
    });
    this.page = await this.open(this.options.page);
  }

  /** Starts it at an address of its admin plane: after a stop, where it was. */
  async startGateway(admin) {
    const files = ['--config', join(this.folder, 'gateway.json'), '--data-dir', join(this.folder, 'data')];
    this.gateway = await Program.start(process.env.SWITCHYARD_GATEWAY, [...files, '--admin', admin]);
    this.admin = this.gateway.urls.admin;
  }

  async restartGateway() {
    await this.startGateway(new URL(this.admin).host);
  }

  /** A page of its own session that shows the dashboard. */
  async open(settings = {}) {
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 800 }, ...settings });
    context.setDefaultTimeout(patience);
    const page = await context.newPage();
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type()) && !this.options.expected?.test(message.text())) this.complaints.push(message.text());
    });
    page.on('pageerror', (error) => this.complaints.push(String(error)));
    page.on('request', (request) => {
      if (!request.url().startsWith(`${this.admin}/`)) this.foreign.push(request.url());
    });
    await page.goto(`${this.admin}/`);
    return page;
  }

  /** Sends one request and waits for its end; returns its status. */
  async ask(more = {}) {
    const body = JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'the-text-of-a-request' }], ...more });
    const answer = await fetch(`${this.gateway.urls.gateway}/v1/chat/completions`, { method: 'POST', body });
    await answer.text();
    return answer.status;
  }

  down() {
    return this.#control('down');
  }

  up() {
    return this.#control('up');
  }

  async #control(command) {
    await (await fetch(`${this.primary.url}/control/${command}`, { method: 'POST' })).text();
  }

  /** What the API says of a circuit. */
  async circuit(id = 'primary') {
    const { circuits } = await (await fetch(`${this.admin}/admin/circuits`)).json();
    return circuits.find((circuit) => circuit.id === id);
  }

  /** The row of the page's table `section` that begins with `name`. */
  row(section, name, page = this.page) {
    return page.locator(`#${section} tbody tr`).filter({ has: page.locator('th', { hasText: name }) });
  }

  /** Waits until the page says that it is live. */
  async live(page = this.page) {
    await eventually(async () => (await page.locator('#connection').textContent()).includes('Live'), 'the page is live');
  }

  /** For people to look at, where SWITCHYARD_SCREENSHOTS names a folder. */
  async picture(name, page = this.page) {
    if (process.env.SWITCHYARD_SCREENSHOTS) await page.screenshot({ path: join(process.env.SWITCHYARD_SCREENSHOTS, `${name}.png`) });
  }

  stop() {
    return (this.stopped ??= this.#stop());
  }

  async #stop() {
    try {
      await this.browser?.close();
      if (this.gateway && this.gateway.child.exitCode === null) await this.gateway.stop();
    } finally {
      await this.primary?.stop();
      await this.backup?.stop();
      if (this.folder) await rm(this.folder, { recursive: true, force: true });
    }
  }

  #configuration() {
    const retry = { max_attempts: 1 };
    return {
      circuits: { default: { consecutive_failures: 2, cooldown: '15s' } },
      providers: { primary: { base_url: `${this.primary.url}/v1` }, backup: { base_url: `${this.backup.url}/v1` } },
      routes: {
        chat: { provider: 'primary', model: 'upstream-model', fallback: ['spare'], retry },
        spare: { provider: 'backup', model: 'backup-model', retry },
      },
      gateway: { listen: '127.0.0.1:0', shutdown_grace: '100ms' },
      admin: { listen: '127.0.0.1:0' },
    };
  }
}
