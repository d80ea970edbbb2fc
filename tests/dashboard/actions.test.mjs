// What an operator does: circuits' modes and resets, by mouse and by keyboard, and the token.

import assert from 'node:assert/strict';

import { dashboardTest, eventually } from './support/dashboard_test.mjs';

const stateOf = (row) => row.locator('.pill').textContent();

dashboardTest('an action happens when it is confirmed, not before', {}, async (stack) => {
  const { page } = stack;
  const primary = stack.row('circuits', 'primary');
  const dialog = page.getByRole('dialog');
  await primary.getByRole('button', { name: 'Force open' }).click();
  await dialog.waitFor();
  assert.match(await dialog.textContent(), /Force open: primary.*refuses every call/s);
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await dialog.waitFor({ state: 'hidden' });
  assert.equal((await stack.circuit()).mode, 'auto');

  await primary.getByRole('button', { name: 'Force open' }).click();
  await stack.picture('confirmation');
  await dialog.getByRole('button', { name: 'Force open' }).click();
  await dialog.waitFor({ state: 'hidden' });
  assert.equal((await stack.circuit()).mode, 'forced_open');
  await eventually(async () => assert.equal(await stateOf(primary), 'forced open'));
  assert.equal(await primary.getByRole('button', { name: 'Force open' }).getAttribute('aria-pressed'), 'true');
  assert.equal(await stack.ask(), 200);
  await eventually(async () => assert.match(await page.locator('#fallbacks tbody').textContent(), /not called: circuit open/));

  for (const [name, mode, shown] of [
    ['Disable', 'disabled', 'disabled (closed)'],
    ['Auto', 'auto', 'closed'],
  ]) {
    await primary.getByRole('button', { name }).click();
    await dialog.getByRole('button', { name }).click();
    await eventually(async () => assert.equal((await stack.circuit()).mode, mode));
    await eventually(async () => assert.equal(await stateOf(primary), shown));
  }
});

dashboardTest('one circuit is reset, and all of them', {}, async (stack) => {
  const { page } = stack;
  const primary = stack.row('circuits', 'primary');
  const dialog = page.getByRole('dialog');
  const ways = [
    [primary.getByRole('button', { name: 'Reset primary' }), 'Reset'],
    [page.getByRole('button', { name: 'Reset all circuits' }), 'Reset all'],
  ];
  await stack.down();
  for (const [button, proceed] of ways) {
    await stack.ask();
    await stack.ask();
    await eventually(async () => assert.equal(await stateOf(primary), 'open'));
    await button.click();
    await dialog.getByRole('button', { name: proceed }).click();
    await eventually(async () => assert.equal(await stateOf(primary), 'closed'));
    assert.equal((await stack.circuit()).state, 'closed');
  }
});

dashboardTest('a refused action says why, and can be tried again', { expected: /503/ }, async (stack) => {
  const { page } = stack;
  const primary = stack.row('circuits', 'primary');
  const dialog = page.getByRole('dialog');
  await page.route('**/admin/circuits/primary', (route) =>
    route.fulfill({ status: 503, json: { error: { message: 'the <b>breaker</b> does not answer' } } }),
  );
  await primary.getByRole('button', { name: 'Disable' }).click();
  await dialog.getByRole('button', { name: 'Disable' }).click();
  await eventually(async () => assert.equal(await dialog.getByRole('alert').textContent(), 'the <b>breaker</b> does not answer'));
  await page.unroute('**/admin/circuits/primary');
  await dialog.getByRole('button', { name: 'Disable' }).click();
  await dialog.waitFor({ state: 'hidden' });
  assert.equal((await stack.circuit()).mode, 'disabled');
});

dashboardTest('an action is done with the keyboard alone, and the focus can be seen all the way', {}, async (stack) => {
  const { page } = stack;
  await stack.row('circuits', 'primary').waitFor();
  const focus = () =>
    page.evaluate(() => {
      const at = document.activeElement;
      const row = at.closest('tr')?.querySelector('th')?.textContent;
      return { name: at.getAttribute('aria-label') ?? at.textContent.trim(), row, outline: getComputedStyle(at).outlineStyle, x: at.getBoundingClientRect().x };
    });
  const passed = [];
  for (let presses = 0; presses < 40; ++presses) {
    await page.keyboard.press('Tab');
    const at = await focus();
    passed.push(at);
    if (at.row === 'primary' && at.name === 'Force open') break;
  }
  assert.equal(passed.at(-1).name, 'Force open', JSON.stringify(passed));
  assert.equal(passed[0].name, 'Skip to the figures');
  for (const at of passed) assert.ok(at.outline !== 'none' && at.x >= 0, `the focus is not seen: ${JSON.stringify(at)}`);

  await page.keyboard.press('Enter');
  assert.equal((await focus()).name, 'Cancel'); // a stray Enter does nothing
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  assert.equal((await focus()).name, 'Force open');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  assert.equal((await focus()).name, 'Force open');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  assert.equal((await stack.circuit()).mode, 'forced_open');
  await eventually(async () => assert.equal(await stateOf(stack.row('circuits', 'primary')), 'forced open'));
  assert.equal((await focus()).row, 'primary'); // and the focus is where it was
});

const withToken = { change: (configuration) => (configuration.admin.token_env = 'DASHBOARD_TEST_TOKEN'), expected: /401/ };

dashboardTest('a wrong token is told, the right one opens the page, and it is forgotten when asked', withToken, async (stack) => {
  const { page } = stack;
  const dialog = page.getByRole('dialog', { name: 'Admin token' });
  await dialog.waitFor();
  await stack.picture('token');
  await page.keyboard.press('Escape');
  await dialog.getByLabel('Token').fill('the-wrong-token');
  await page.keyboard.press('Enter');
  await eventually(async () => assert.match(await dialog.getByRole('alert').textContent(), /refuses this token/));
  assert.equal(await page.locator('#circuits tbody tr').count(), 0);
  await dialog.getByLabel('Token').fill('the-right-token');
  await page.keyboard.press('Enter');
  await stack.live();
  await dialog.waitFor({ state: 'hidden' });

  const primary = stack.row('circuits', 'primary');
  await primary.getByRole('button', { name: 'Force open' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Force open' }).click();
  await eventually(async () => assert.equal(await stateOf(primary), 'forced open'));
  assert.ok(!page.url().includes('token'));
  assert.equal(await page.evaluate(() => localStorage.length + document.cookie.length), 0);

  await page.getByRole('button', { name: 'Forget token' }).click();
  await dialog.waitFor();
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
});

dashboardTest('a token that is no longer the gateway\'s is asked for at the next action, which does nothing', withToken, async (stack) => {
  const { page } = stack;
  const dialog = page.getByRole('dialog', { name: 'Admin token' });
  await dialog.getByLabel('Token').fill('the-right-token');
  await page.keyboard.press('Enter');
  await stack.live();
  await stack.row('circuits', 'primary').getByRole('button', { name: 'Disable' }).click(); // so the figures have come
  await page.evaluate(() => sessionStorage.setItem('switchyard-admin-token', 'an-old-token'));
  await page.locator('#confirm .proceed').click();
  await dialog.waitFor();
  await dialog.getByLabel('Token').fill('the-right-token');
  await page.keyboard.press('Enter');
  await eventually(async () => assert.match(await page.locator('#confirm [role=alert]').textContent(), /Nothing was changed; try again/));
  await page.locator('#confirm .proceed').click();
  await eventually(async () => assert.equal(await stateOf(stack.row('circuits', 'primary')), 'disabled (closed)'));
});
