import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

import { within } from './expect.mjs';

const running = new Set();
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));

/** A program of this project that says `ready NAME=URL ...` when it serves. `log` is what it wrote to stderr. */
export class Program {
  static async start(path, args) {
    const program = new Program();
    const child = spawn(path, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    program.child = child;
    program.log = '';
    child.stderr.setEncoding('utf8').on('data', (text) => (program.log += text));
    running.add(child);
    program.exit = once(child, 'exit').finally(() => running.delete(child));
    const ready = new Promise((resolve, reject) => {
      createInterface({ input: child.stdout }).on('line', (line) => line.startsWith('ready ') && resolve(line));
      program.exit.then(([code, signal]) => reject(new Error(`${path} ended with ${code ?? signal}: ${program.log}`)), reject);
    });
    const [, ...words] = (await within(ready, `${path} is ready`)).split(' ');
    program.urls = Object.fromEntries(words.map((word) => word.split(/=(.*)/s)));
    return program;
  }

  /** Ends it as an operator would, and fails unless it says that all was well. */
  async stop() {
    this.child.kill('SIGTERM');
    const [code, signal] = await within(this.exit, 'a program ends after SIGTERM');
    if (code !== 0) throw new Error(`ended with ${code ?? signal}: ${this.log}`);
  }
}
