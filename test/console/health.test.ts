import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { fill, findBarriers, startBoth } from './fixture.ts';

// Design of the console, §6.6 and §6.8.

const { vault, open } = await startBoth(['--included-active-tokens', '80']);
await fill(vault, 120);

async function openHealth(prepare: (page: Page) => Promise<unknown> = async () => undefined) {
  const watched = await open();
  await prepare(watched.page);
  await watched.page.goto(`${vault.url}/ui/health`);
  await watched.page.waitForSelector('.card .figure');
  return watched;
}

it('shows readiness, file and keys of the vault', async () => {
  const { page, complaints } = await openHealth();
  expect(await page.textContent('.figure')).toBe('ready');
  await page.waitForSelector('.card:nth-child(2) dd:has-text("vault.db")');
  await page.waitForSelector('.card:nth-child(3) td:has-text("key file current")');
  const text = await page.textContent('main');
  for (const part of [
    'Version0.1.0',
    'Tokens120',
    'KB',
    'Format1',
    '0 records left to reseal',
    'This vault is temporary',
  ]) {
    expect(text).toContain(part);
  }
  expect(complaints).toEqual([]);
});

it('runs doctor and keeps its report', async () => {
  const { page } = await openHealth();
  await page.click('button:has-text("Doctor")');
  await page.waitForSelector('.holder .good:has-text("ok: 1 tenant, 2 applications, 120 tokens")');
  await page.click('nav a:has-text("Usage")');
  await page.waitForSelector('h1:has-text("Usage")');
  await page.click('nav a:has-text("Health")');
  await page.waitForSelector('.holder .good');
});

describe('a vault in trouble', () => {
  it('shows that it is not ready, and why', async () => {
    const { page } = await openHealth((page) =>
      page.route('**/ui/api/readyz', (route) => route.fulfill({ status: 503, json: { detail: 'The vault is busy.' } })),
    );
    expect(await page.textContent('.figure')).toBe('not ready');
    await page.waitForSelector('.wrong:has-text("The vault is busy.")');
  });

  it('shows the notices of a running vault', async () => {
    const json = { status: 'ready', notices: ['the vault has 1 finding: run `vault doctor`'] };
    const { page } = await openHealth((page) => page.route('**/ui/api/readyz', (route) => route.fulfill({ json })));
    await page.waitForSelector('.wrong:has-text("the vault has 1 finding")');
  });

  it('lists findings without accessibility violations', async () => {
    const checked = { tenants: 1, applications: 2, tokens: 120, audit_entries: 9 };
    const findings = [{ table: 'token', id: 'item-0001', what: 'does not open' }];
    const json = { ok: false, checked, findings, notices: ['the clock is in doubt'] };
    const { page } = await openHealth((page) => page.route('**/ui/holder/doctor', (route) => route.fulfill({ json })));
    await page.click('button:has-text("Doctor")');
    await page.waitForSelector('.holder .bad:has-text("1 finding")');
    await page.waitForSelector('li:has-text("token item-0001 does not open")');
    await page.waitForSelector('li:has-text("the clock is in doubt")');
    expect(await findBarriers(page)).toEqual([]);
  });
});

it('shows the commands instead when the console has no file', async () => {
  const { page, asked } = await openHealth((page) =>
    page.route('**/ui/session', async (route) => {
      const response = await route.fetch();
      await route.fulfill({
        response,
        json: { ...(await response.json()), file: false, commands: { vault: '', console: '' } },
      });
    }),
  );
  await page.waitForSelector('.holder:has-text("Doctor needs the file.")');
  await page.waitForSelector('code:has-text("vault doctor --file FILE")', { state: 'attached' });
  await page.waitForSelector('code:has-text("vault keys list --tenants --file FILE")', { state: 'attached' });
  expect(await page.locator('button:has-text("Doctor")').count()).toBe(0);
  expect(asked.filter((address) => address.includes('/ui/holder/'))).toEqual([]);
  expect(await findBarriers(page)).toEqual([]);
});

describe('the usage', () => {
  it('shows tokens by type and active tokens by month, as charts and tables', async () => {
    const { page, complaints } = await open();
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
    const { page } = await open('usage');
    await page.click('.card a:has-text("card")');
    await page.waitForSelector('footer:has-text("1–50 of 72")');
  });

  it('asks for a key with report:read', async () => {
    const { page } = await open();
    await page.route('**/ui/session', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), identities: [{ n: 1, source: 'x' }] } });
    });
    await page.goto(`${vault.url}/ui/usage`);
    await page.waitForSelector('.empty:has-text("No API key of the console holds report:read")');
    expect(await page.locator('.card').count()).toBe(0);
  });
});
