// Whether everybody can read the page: on a phone, in light and dark, with a screen reader, whatever the names are.

import assert from 'node:assert/strict';

import { contrasts } from './support/contrast.mjs';
import { dashboardTest, eventually } from './support/dashboard_test.mjs';

const long = 'a-provider-with-a-name-that-nobody-would-want-to-type-in-a-hurry-at-night';
const everything = (configuration) => {
  configuration.providers[long] = { base_url: 'http://127.0.0.1:9/v1' };
  configuration.routes[long] = { provider: long, model: 'm', fallback: ['spare'], retry: { max_attempts: 1 } };
  configuration.budgets = [{ tenant: '*', route: '*', window: '24h', requests: 100, tokens: 1_000_000, cost: 5 }];
};

// Brings everything that can be seen onto the page: an open circuit, a held one, fallbacks, budgets.
async function fill(stack) {
  await stack.down();
  for (let i = 0; i < 3; ++i) await stack.ask();
  await stack.ask({ model: long });
  const held = { method: 'POST', body: JSON.stringify({ mode: 'forced_open' }) };
  await (await fetch(`${stack.admin}/admin/circuits/backup`, held)).text();
}

const filled = (stack, page) =>
  eventually(async () => assert.equal(await stack.row('circuits', 'backup', page).locator('.pill').textContent(), 'forced open')).then(() =>
    eventually(async () => assert.equal(await page.locator('#fallbacks tbody tr').count(), 4)),
  );

dashboardTest('a phone of 360 pixels shows it without scrolling sideways, dialogs too', { change: everything }, async (stack) => {
  await fill(stack);
  for (const colorScheme of ['light', 'dark']) {
    const page = await stack.open({ viewport: { width: 360, height: 740 }, colorScheme });
    await filled(stack, page);
    const overflow = () =>
      page.evaluate(() =>
        [...document.querySelectorAll('body *:not(.unseen, .unseen *, .skip, thead, thead *)')]
          .filter((each) => each.checkVisibility() && (each.getBoundingClientRect().right > innerWidth + 0.5 || each.getBoundingClientRect().left < -0.5))
          .map((each) => each.outerHTML.slice(0, 120)),
      );
    const widths = () => page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.deepEqual(await widths(), [360, 360]);
    assert.deepEqual(await overflow(), []);
    await stack.picture(`phone-${colorScheme}`, page);
    await stack.row('circuits', long, page).getByRole('button', { name: 'Disable' }).click();
    await page.getByRole('dialog').waitFor();
    assert.deepEqual(await widths(), [360, 360]);
    assert.deepEqual(await overflow(), []);
  }
});

dashboardTest('every text has a contrast of 4.5 to 1, in light and dark', { change: everything, expected: /ERR_|Failed to load/ }, async (stack) => {
  await fill(stack);
  const pages = [];
  for (const colorScheme of ['light', 'dark']) {
    const page = await stack.open({ colorScheme });
    await filled(stack, page);
    pages.push({ colorScheme, page });
    await check(page, colorScheme);
    await stack.picture(`wide-${colorScheme}`, page);
    await stack.row('circuits', 'primary', page).getByRole('button', { name: 'Disable' }).click();
    await check(page, `${colorScheme}, dialog`);
  }
  await stack.gateway.stop();
  for (const { colorScheme, page } of pages) {
    await eventually(async () => assert.match(await page.locator('#connection').textContent(), /Connection lost/));
    await check(page, `${colorScheme}, lost`);
  }
});

async function check(page, when) {
  const seen = await page.evaluate(contrasts);
  assert.ok(seen.length > 50, `${when}: only ${seen.length} texts`);
  const weak = seen.filter(({ ratio }) => ratio < 4.5).map(({ text, ratio }) => `${text}: ${ratio.toFixed(2)}`);
  assert.deepEqual(weak, [], when);
}

dashboardTest('a screen reader finds landmarks, tables with heads, and a name for every control', { change: everything }, async (stack) => {
  await fill(stack);
  for (const width of [1280, 360]) {
    const page = await stack.open({ viewport: { width, height: 740 } });
    await filled(stack, page);
    for (const role of ['banner', 'main']) assert.equal(await page.getByRole(role).count(), 1, role);
    for (const name of ['Traffic', 'Circuits', 'Health', 'Budgets', 'Last fallbacks'])
      assert.equal(await page.getByRole('region', { name }).count(), 1, name);
    assert.equal(await page.getByRole('table').count(), 4);
    assert.equal(await page.getByRole('rowheader', { name: long, exact: true }).count(), 2); // its circuit and its health
    assert.equal(await page.getByRole('region', { name: 'Circuits' }).getByRole('columnheader').count(), 10);
    assert.equal(await page.getByRole('group', { name: `Mode of ${long}` }).count(), 1);
    for (const button of await page.getByRole('button').all()) assert.notEqual((await button.innerText()).trim(), '');
    assert.equal(await page.locator('[aria-live], [role=status], [role=alert]').count(), 3); // sparing: one status, two dialogs
  }
});

const markup = '<img src=x onerror=document.title=1>';
const named = (configuration) => {
  configuration.providers[markup] = { base_url: 'http://127.0.0.1:9/v1' };
  configuration.routes[markup] = { provider: markup, model: 'm', fallback: ['spare'], retry: { max_attempts: 1 } };
};
dashboardTest('a name that looks like markup is shown as it is, and no text of a request is shown', { change: named }, async (stack) => {
  const { page } = stack;
  await stack.ask({ model: markup });
  await eventually(async () => assert.ok((await page.locator('#fallbacks tbody').textContent()).includes(markup)));
  await eventually(async () => assert.equal(await stack.row('circuits', markup).count(), 1));
  assert.equal(await page.locator('main img').count(), 0);
  assert.equal(await page.title(), 'Switchyard');
  assert.ok(!(await page.content()).includes('the-text-of-a-request'));
  // A circuit's id goes percent-encoded into the path of its change.
  await stack.row('circuits', markup).getByRole('button', { name: 'Disable' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
  await eventually(async () => assert.equal(await stack.row('circuits', markup).locator('.pill').textContent(), 'disabled (closed)'));
});
