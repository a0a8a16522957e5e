import { expect, it } from 'vitest';
import { fill, openConsole, startBoth } from './fixture.ts';

// Design of the console, §6.6.

const { browser, vault } = await startBoth(['--included-active-tokens', '80']);
await fill(vault, 120);

it('shows tokens by type and active tokens by month, as charts and tables', async () => {
  const { page, complaints } = await openConsole(browser, vault);
  await page.keyboard.press('g');
  await page.keyboard.press('u');
  await page.waitForSelector('.card');
  const types = await page.$$eval('.card:first-child tbody tr', (rows) => rows.map((row) => row.textContent));
  expect(types).toEqual(['card72', 'token36', 'social_security_number12']);
  const widths = await page.$$eval('.bar rect', (bars) => bars.map((bar) => bar.getAttribute('width')));
  expect(widths).toEqual(['100%', '50%', '16.666666666666668%']);
  expect(await page.textContent('.card:last-child .figure')).toBe('120 of 80 included this month');
  expect(await page.textContent('.columns g:last-of-type title')).toMatch(/^\d{4}-\d{2}: 120$/);
  expect(await page.locator('.columns .limit').count()).toBe(1);
  const tops = await page.$$eval('.card', (cards) => cards.map((card) => card.getBoundingClientRect().top));
  expect(tops[0]).toBe(tops[1]);
  await page.click('summary');
  expect(await page.locator('details tbody tr').count()).toBe(12);
  expect(await page.textContent('details tbody tr:last-child td')).toBe('120');
  expect(complaints).toEqual([]);
});

it('links to the tokens of a type', async () => {
  const { page } = await openConsole(browser, vault);
  await page.goto(`${vault.url}/ui/usage`);
  await page.click('.card a:has-text("card")');
  await page.waitForSelector('footer:has-text("1–50 of 72")');
});

it('asks for a key with report:read', async () => {
  const { page } = await openConsole(browser, vault);
  await page.route('**/ui/session', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), identities: [{ n: 1, source: 'x' }] } });
  });
  await page.goto(`${vault.url}/ui/usage`);
  await page.waitForSelector('.empty:has-text("No API key of the console holds report:read")');
  expect(await page.locator('.card').count()).toBe(0);
});
