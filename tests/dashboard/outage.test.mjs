// What a person sees of a provider's outage, from its first failure to its recovery.

import assert from 'node:assert/strict';

import { dashboardTest, eventually } from './support/dashboard_test.mjs';

const pill = (row) => row.locator('.pill');
const cell = (row, label) => row.locator(`[data-label="${label}"]`);

// Long enough for everything that is looked at while the circuit is open.
const cooled = { change: ({ circuits }) => (circuits.default.cooldown = '20s') };
dashboardTest('an outage is seen from its first failure to its recovery', cooled, async (stack) => {
  const { page } = stack;
  await stack.live();
  const primary = stack.row('circuits', 'primary');
  await eventually(async () => assert.equal(await pill(primary).textContent(), 'closed'));
  assert.equal(await cell(primary, 'Streak').textContent(), '0 of 2');
  assert.ok(await page.getByText('No request has fallen back.').isVisible());

  await stack.down();
  assert.equal(await stack.ask(), 200);
  await eventually(async () => assert.equal(await cell(primary, 'Streak').textContent(), '1 of 2'));
  assert.equal(await stack.ask(), 200);
  await eventually(async () => assert.equal(await pill(primary).textContent(), 'open'));
  assert.equal(await cell(primary, 'Trips').textContent(), '1');
  assert.equal(await page.title(), '(1) Switchyard');
  assert.equal(await page.locator('#news').textContent(), 'Circuit primary is open');
  await showsCountdown(page, primary);

  const trail = page.locator('#fallbacks tbody tr').first();
  await eventually(async () => assert.match(await trail.textContent(), /chat \(primary\) server error 503.*spare \(backup\) answered 200/));
  assert.equal(await stack.ask(), 200);
  await eventually(async () => assert.match(await trail.textContent(), /served by backup.*chat \(primary\) not called: circuit open.*spare/));
  await stack.picture('outage');

  await stack.up();
  await eventually(async () => assert.equal(await pill(primary).textContent(), 'half open'));
  assert.equal(await stack.ask(), 200);
  await eventually(async () => assert.equal(await pill(primary).textContent(), 'closed'));
  assert.equal(await cell(primary, 'Wait').textContent(), '–');
  assert.equal(await page.title(), 'Switchyard');
});

// The wait goes on by itself: meanwhile the page's questions get no answer.
async function showsCountdown(page, row) {
  let held = 0;
  await page.route('**/admin/circuits', () => void ++held);
  await eventually(() => held > 0, 'the page asks again'); // so the answer to its last question is shown
  const wait = async () => Number(/^(\d+) s$/.exec(await cell(row, 'Wait').textContent())?.[1]);
  const first = await wait();
  assert.ok(first > 0 && first <= 20, `${first}`);
  await eventually(async () => (await wait()) < first, 'the wait counts down');
  await page.unroute('**/admin/circuits'); // which lets the held ones go on
}

dashboardTest('a page that is opened later shows what the log knows: charts and trails', {}, async (stack) => {
  await stack.down();
  await stack.ask();
  await stack.ask({ stream: true });
  const page = await stack.open();
  const trails = page.locator('#fallbacks tbody tr');
  await eventually(async () => assert.equal(await trails.count(), 2));
  assert.match(await trails.last().textContent(), /chat \(primary\) server error 503.*spare \(backup\) answered 200/);
  const chart = (id) => page.locator(`#${id} svg`).getAttribute('aria-label');
  // A bucket is drawn when it is whole.
  await eventually(async () => assert.match(await chart('rate-chart'), /^Requests per second: now all .*highest of the last 5 minutes 0\.\d/));
  await eventually(async () => assert.match(await chart('latency-chart'), /highest of the last 5 minutes .* m?s$/));
  await eventually(async () => assert.match(await chart('first-token-chart'), /highest of the last 5 minutes .* m?s$/));
  assert.ok((await page.locator('#rate-chart polyline').count()) > 0);
});

dashboardTest('what nobody measured is "no data", never 0 [H8]', {}, async (stack) => {
  const { page } = stack;
  const backup = stack.row('health', 'backup');
  await eventually(async () => assert.equal(await cell(backup, 'Score').textContent(), 'no data'));
  assert.equal(await cell(backup, 'Samples').textContent(), '0');
  assert.equal(await cell(backup, 'Success').textContent(), 'no data');
  assert.equal(await cell(backup, 'p95').textContent(), 'no data');
  assert.equal(await cell(stack.row('circuits', 'backup'), 'Failures').textContent(), 'no window');
  await eventually(async () => assert.match(await page.locator('#latency-chart svg').getAttribute('aria-label'), /no data$/));
  assert.ok(await page.locator('#latency-chart .no-data').isVisible());

  await stack.ask();
  const primary = stack.row('health', 'primary');
  await eventually(async () => assert.equal(await cell(primary, 'Samples').textContent(), '1'));
  assert.equal(await cell(primary, 'Success').textContent(), '100 %');
});

const watched = (configuration) => {
  configuration.circuits.default.window = { type: 'count', size: 10, minimum_calls: 5, failure_rate: 0.5 };
  configuration.providers.backup.circuit = null;
  configuration.health = { reorder: 'fallbacks' };
  configuration.budgets = [{ tenant: '*', route: '*', window: '24h', requests: 100 }];
};
dashboardTest('whether reorder and breakers are on is said, and what is taken of budgets', { change: watched }, async (stack) => {
  const { page } = stack;
  await eventually(async () => assert.match(await page.locator('#reorder').textContent(), /^Reorder by health is on for fallbacks: .* on, but not for backup\.$/));
  assert.equal(await stack.row('circuits', 'backup').count(), 0);
  assert.ok(await page.getByText('No budget has been charged yet.').isVisible());
  await stack.ask();
  const budget = stack.row('budgets', 'no tenant');
  await eventually(async () => assert.match(await cell(budget, 'Requests').textContent(), /^1 of 100/));
  assert.equal(await budget.locator('meter').first().getAttribute('max'), '100');
  await eventually(async () => assert.equal(await cell(stack.row('circuits', 'primary'), 'Failures').textContent(), '0 % of 50 %'));
});

dashboardTest('after a restart the page shows the circuits of the new gateway', { expected: /ERR_|Failed to load/ }, async (stack) => {
  const { page } = stack;
  await stack.live();
  await stack.down();
  await stack.ask();
  await stack.ask();
  const primary = stack.row('circuits', 'primary');
  await eventually(async () => assert.equal(await pill(primary).textContent(), 'open'));

  await stack.gateway.stop();
  const connection = page.locator('#connection');
  await eventually(async () => assert.match(await connection.textContent(), /Connection lost\. .*Figures are those of \d\d:\d\d:\d\d\./));
  assert.equal(await page.locator('main').getAttribute('data-figures'), 'stale');
  const mark = await page.locator('#circuits h2').evaluate((title) => getComputedStyle(title, '::after').content);
  assert.equal(mark, '"not up to date"');
  assert.equal(await pill(primary).textContent(), 'open'); // what was known is still there
  await stack.picture('lost');

  await stack.restartGateway();
  await stack.live();
  await eventually(async () => assert.equal(await pill(primary).textContent(), 'closed'));
  assert.equal(await page.locator('main').getAttribute('data-figures'), 'current');
  await stack.ask();
  await eventually(async () => assert.equal(await cell(primary, 'Streak').textContent(), '1 of 2')); // events come again
});
