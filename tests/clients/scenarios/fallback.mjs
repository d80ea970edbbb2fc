import assert from 'node:assert/strict';

import { chat, chatStream } from '../support/answers.mjs';
import { drain } from '../support/expect.mjs';
import { faulty } from '../support/faulty_provider.mjs';
import { gatewayTest } from '../support/gateway_test.mjs';
import { scripted } from '../support/scripted_provider.mjs';

const broken = {
  'answers 500': { script: { errors: [{ status: 500, rate: 1 }] } },
  'resets the connection': { script: { faults: { reset: 1 } } },
  'never answers': { script: { faults: { silence: 1 } }, timeouts: { attempt: '1s' } },
  'answers nothing': { script: { faults: { no_content: 1 } } },
  'answers 200 with an error in it': { script: { faults: { error_in_200: 1 } } },
};

const brokenBeforeContent = {
  'answers 500': broken['answers 500'],
  'begins with an error event': { script: { stream: { faults: { error_event: { after: 'head' } } } } },
  'sends an error event for its first content': { script: { stream: { faults: { error_event: { after: 0 } } } } },
  'stalls before content': { script: { stream: { faults: { stall: { after: 0 } } } }, timeouts: { first_content: '1s' } },
  'is cut before content': { script: { stream: { faults: { cut: { after: 0 } } } } },
};

/** The first provider fails while another can still take its place [S1], [B3]. */
export function fallback({ name, connect }) {
  for (const [what, { script, timeouts = {} }] of Object.entries(broken)) {
    const setup = { primary: faulty(script), backup: scripted(chat('from the backup')), settings: { timeouts } };
    gatewayTest(`${name}: another provider answers when the first ${what} [B3]`, setup, async ({ url, primary }) => {
      const answer = await connect(url).chat('hello');
      assert.equal(answer.text, 'from the backup');
      assert.equal(answer.header('x-switchyard-provider'), 'backup');
      assert.equal(answer.header('x-switchyard-fallbacks'), '1');
      assert.equal(await primary.count(), 1);
    });
  }

  for (const [what, { script, timeouts = {} }] of Object.entries(brokenBeforeContent)) {
    const setup = { primary: faulty(script), backup: scripted(chatStream('from ', 'the ', 'backup')), settings: { timeouts } };
    gatewayTest(`${name}: another provider streams when the first ${what} [S1]`, setup, async ({ url, primary, backup }) => {
      const { text, error } = await drain(connect(url).stream('hello'));
      assert.ifError(error);
      assert.equal(text, 'from the backup');
      assert.equal(await primary.count(), 1);
      assert.equal(await backup.count(), 1);
    });
  }
}
