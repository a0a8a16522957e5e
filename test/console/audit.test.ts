import { rm } from 'node:fs/promises';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { bareEnvironment, vault as runVault } from '../../scripts/run-vault.ts';
import { OPERATIONS } from '../../src/contract/operations.ts';
import { fill, findFaults, openConsole, overflow, startBoth, startDev } from './fixture.ts';

// Design of the console, §6.5 and check 25.

const { browser, vault, open } = await startBoth();
const ids = await fill(vault, 120);
for (const id of ids.slice(0, 60)) await vault.client.getToken({ params: { id } });
await vault.management.getToken({ params: { id: 'item-0007' } }).catch(() => undefined);

const ROWS = '.list tbody tr';
/** More than the pause between two polls, in milliseconds. */
const PAUSE_MS = 250;
const firstRow = (page: Page) => page.textContent(`${ROWS} >> nth=0`);

async function openAudit(query = '', options = {}) {
  const watched = await open(`audit${query}`, options);
  await watched.page.waitForSelector(ROWS);
  return watched;
}

const waits = (address: string) => address.includes('/ui/api/logs') && address.includes('wait=');

describe('the list', () => {
  it('shows one row for a call and opens it', async () => {
    const { page, complaints } = await openAudit();
    expect(await firstRow(page)).toContain('denied');
    await page.waitForSelector(`${ROWS}:has-text("revealed")`);
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.pane h2:has-text("Denied: get a token")');
    await page.click('.pane a:has-text("item-0007")');
    await page.waitForSelector('h1:has-text("Tokens")');
    expect(page.url()).toContain('/ui/tokens?token=item-0007');
    await page.goBack();
    await page.waitForSelector('.pane');
    await page.keyboard.press('Escape');
    await page.waitForSelector('.pane', { state: 'detached' });
    expect(complaints).toEqual([]);
  });

  it('shows all tokens of a call in one row, without accessibility violation', async () => {
    const { page } = await openAudit('?operation=tokenize');
    expect(await findFaults(page)).toEqual([]);
    await page.waitForSelector(`${ROWS}:has-text("20 tokens")`);
    await page.click(`${ROWS}:has-text("20 tokens") a.row`);
    await page.waitForSelector('.pane');
    expect(await page.locator('.pane dd a:not(.only)').count()).toBe(21);
    expect(await findFaults(page)).toEqual([]);
  });

  it.each([
    ['denied only', (page: Page) => page.check('text=denied only'), 'denied=1', 1],
    ['one operation', (page: Page) => page.selectOption('select[aria-label=operation]', 'getToken'), 'operation=', 50],
    ['one actor', (page: Page) => page.selectOption('select[aria-label=actor]', { label: 'management' }), 'actor=', 2],
    [
      'one entity',
      (page: Page) => page.fill('.filter input', 'item-0001').then(() => page.keyboard.press('Enter')),
      'entity=item-0001',
      2,
    ],
  ] as const)('finds %s, and the address keeps it', async (_what, choose, part, count) => {
    const { page } = await openAudit();
    await choose(page);
    await expect.poll(() => page.locator(ROWS).count()).toBe(count);
    expect(page.url()).toContain(part);
    await page.reload();
    await expect.poll(() => page.locator(ROWS).count()).toBe(count);
  });

  it('shows entries between two times, and says how many calls they are', async () => {
    const { data } = await vault.management.listLogs({ query: { size: 100 } });
    const newest = data[0]?.created_at ?? '';
    const { page } = await openAudit('?live=off');
    await page.waitForSelector(`footer:has-text("entries in ")`);
    expect(await page.locator(ROWS).first().innerText()).toMatch(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/);
    const past = new Date(Date.parse(newest) - 3_600_000).toISOString().slice(0, 19);
    await page.fill('[name=To]', past);
    await page.waitForSelector('.empty:has-text("No entry matches")');
    await page.click('text=Show all entries');
    await page.fill('[name=From]', past);
    await page.waitForSelector(ROWS);
    expect(new URL(page.url()).searchParams.get('since')).toBe(`${past}.000Z`);
  });

  it('turns its pages', async () => {
    const { page } = await openAudit();
    const first = await firstRow(page);
    await page.keyboard.press(']');
    await page.waitForSelector('footer:has-text("51–100")');
    expect(await firstRow(page)).not.toBe(first);
    await page.keyboard.press('[');
    await page.waitForSelector('footer:has-text("1–50")');
  });

  it('has no horizontal scroll bar at 320 pixels for any operation', async () => {
    const { page } = await openAudit('?live=off', { viewport: { width: 320, height: 640 } });
    const created_at = new Date(Date.now() - 59 * 60_000).toISOString();
    const entry = { tenant_id: 't', actor_type: 'vault', entity_type: 'application', message: '', created_at };
    const data = Object.keys(OPERATIONS).map((operation, n) => {
      const [status, revealed] = [n % 2 === 0 ? 403 : 200, n % 2 === 1];
      return { ...entry, id: `${9999 - n}.1`, entity_id: 'x'.repeat(400), operation, status, revealed };
    });
    await page.route(/\/ui\/api\/logs/, (route) => route.fulfill({ json: { pagination: { page_size: 50 }, data } }));
    await page.keyboard.press('r');
    await page.waitForSelector('text=59 min ago', { state: 'attached' });
    expect(await overflow(page)).toBe(0);
    await page.click(`${ROWS} a.row`);
    await page.waitForSelector('.pane');
    expect(await overflow(page)).toBe(0);
  });

  it('shows how far a search got, and continues it', async () => {
    const { page } = await openAudit();
    const pagination = { page_size: 50, next: 'MTAuMC4w', searched_to: '2020-01-01T00:00:00.000+00:00' };
    await page.route(/\/ui\/api\/logs\?.*denied=true/, (route) =>
      route.request().url().includes('start=') ? route.continue() : route.fulfill({ json: { pagination, data: [] } }),
    );
    await page.check('text=denied only');
    await page.waitForSelector('text=searched back to');
    expect(await page.textContent('.searched time')).toMatch(/years ago/);
    await page.click('a:has-text("further")');
    await page.waitForSelector('text=searched back to', { state: 'detached' });
    expect(page.url()).toContain('start=MTAuMC4w');
  });
});

describe('live mode', () => {
  it('shows a new entry at the top and keeps the focus on its row', async () => {
    const { page } = await openAudit();
    for (const key of ['j', 'j', 'j']) await page.keyboard.press(key);
    const focused = () => page.evaluate(() => document.activeElement?.closest('tr')?.textContent);
    const index = () => page.$$eval(ROWS, (all) => all.findIndex((row) => row.contains(document.activeElement)));
    const [before, at] = [await focused(), await index()];
    expect(at).toBeGreaterThan(0);
    await vault.client.getToken({ params: { id: 'item-0100' } });
    await page.waitForSelector(`${ROWS} >> nth=0 >> text=item-0100`, { timeout: 1_000 });
    expect([(await focused())?.slice(-20), await index()]).toEqual([before?.slice(-20), at + 1]);
    await page.keyboard.press('j');
    expect(await index()).toBe(at + 2);
  });

  it('counts new entries while the list is scrolled', async () => {
    const { page } = await openAudit();
    await page.evaluate(() => document.querySelector('.list .scroller')?.scrollTo(0, 300));
    await vault.client.getToken({ params: { id: 'item-0101' } });
    await page.waitForSelector('button:has-text("1 new")');
    await vault.client.getToken({ params: { id: 'item-0102' } });
    await page.waitForSelector('button:has-text("2 new")');
    expect(await page.textContent(ROWS)).not.toContain('item-0101');
    await page.click('button:has-text("2 new")');
    await page.waitForSelector(`${ROWS} >> nth=0 >> text=item-0102`);
    await page.waitForSelector('.held button', { state: 'detached' });
  });

  it('polls only while its screen is shown, and does not extend the session', async () => {
    const { page } = await openAudit();
    const active: string[] = [];
    const sent: string[] = [];
    page.on('request', (request) => {
      if (!waits(request.url())) return;
      sent.push(request.url());
      if (request.headers()['x-vault-active'] !== undefined) active.push(request.url());
    });
    for (const id of ids.slice(103, 106)) {
      await vault.client.getToken({ params: { id } });
      await page.waitForSelector(`${ROWS} >> nth=0 >> text=${id}`);
    }
    expect([sent.length > 1, active]).toEqual([true, []]);
    await page.click('nav a:has-text("Usage")');
    await page.waitForSelector('h1:has-text("Usage")');
    sent.length = 0;
    await vault.client.getToken({ params: { id: 'item-0107' } });
    await page.waitForTimeout(PAUSE_MS);
    expect(sent).toEqual([]);
    await page.click('nav a:has-text("Audit")');
    await expect.poll(() => sent.length).toBeGreaterThan(0);
    await page.keyboard.press('Control+l');
    await page.waitForSelector('main.locked');
    sent.length = 0;
    await vault.client.getToken({ params: { id: 'item-0108' } });
    await page.waitForTimeout(PAUSE_MS);
    expect(sent).toEqual([]);
  });

  it('can be turned off', async () => {
    const { page, asked } = await openAudit('?live=off');
    await vault.client.getToken({ params: { id: 'item-0109' } });
    await page.waitForTimeout(PAUSE_MS);
    expect(asked.filter(waits)).toEqual([]);
    expect(await firstRow(page)).not.toContain('item-0109');
  });

  it('shows entries of commands on the file, and does not delay the end of the daemon', async () => {
    const file = path.join(vault.folder, 'kept.db');
    const kept = await startDev(['--file', file]);
    const { page } = await openConsole(browser, kept, 'audit');
    await page.waitForSelector(ROWS);
    const env = { ...bareEnvironment(vault.folder), VAULT_API_KEY: kept.private_key };
    await runVault(
      ['tokens', 'create', '--file', file, '--type', 'token', '--text', 'x', '--id', 'from-the-file'],
      env,
    );
    await page.waitForSelector(`${ROWS} >> nth=0 >> text=from-the-file`, { timeout: 1_000 });
    const start = performance.now();
    expect(await kept.end()).toBe(0);
    expect(performance.now() - start).toBeLessThan(5_000);
    await rm(file);
  });
});

describe('Verify', () => {
  it('reports the end of the log', async () => {
    const { page } = await openAudit();
    await page.click('button:has-text("Verify")');
    await page.waitForSelector('.holder .good');
    expect(await page.textContent('.holder .good')).toMatch(/^verified \d+ entries, head [\da-f]{8}/);
  });

  it('names the first damaged entry', async () => {
    const { page } = await openAudit();
    const json = { ok: false, entries: 9, first_bad: { sequence: 7, what: 'was altered' } };
    await page.route('**/ui/holder/verify', (route) => route.fulfill({ json }));
    await page.click('button:has-text("Verify")');
    await page.waitForSelector('.holder .bad:has-text("entry 7: was altered")');
  });
});
