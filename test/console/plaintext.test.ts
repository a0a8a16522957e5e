import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { fill, heapOf, holdings, settle, startBoth } from './fixture.ts';

// Design of the console, §5.4 and checks 13, 18 and 19.

const ID = 'item-0000';
const NUMBER = '4000000000000002';

const { vault, open } = await startBoth();
await fill(vault, 60);

async function openToken(reused?: Page): Promise<Page> {
  const page = reused ?? (await open()).page;
  await page.clock.install();
  await page.goto(`${vault.url}/ui/tokens?token=${ID}`);
  await page.waitForSelector('.reveal');
  return page;
}

const ENDS: readonly (readonly [string, (page: Page) => Promise<unknown>])[] = [
  ['30 seconds', (page) => page.clock.runFor(31_000)],
  ['Esc', (page) => page.keyboard.press('Escape')],
  ['v', (page) => page.keyboard.press('v')],
  ['another window', (page) => page.evaluate(() => dispatchEvent(new Event('blur')))],
  ['another tab', (page) => page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))],
  ['printing', (page) => page.evaluate(() => dispatchEvent(new Event('beforeprint')))],
  ['another screen', (page) => page.click('nav a[href="/ui/see-as"]')],
  ['another token', (page) => page.click('a.row >> nth=3')],
  // Must be last, because it ends the session.
  ['Lock', (page) => page.keyboard.press('Control+l')],
];

/** The ends that remove it in other ways. All others hide it like the end of the 30 seconds. */
const OTHERS = ['30 seconds', 'another screen', 'another token', 'Lock'];

describe('plaintext', () => {
  it('is absent from the page before Reveal', async () => {
    const page = await openToken();
    expect((await holdings(page)).includes(NUMBER)).toBe(false);
    expect((await heapOf(page)).includes(NUMBER)).toBe(false);
  });

  it('control: finds plaintext that a script keeps', async () => {
    const page = await openToken();
    await page.evaluate((number) => Object.assign(globalThis, { kept: `it is ${number}` }), NUMBER);
    expect((await heapOf(page)).includes(NUMBER)).toBe(true);
  });

  it('that arrives after the pane was closed is not shown', async () => {
    const page = await openToken();
    let answer = () => {};
    await page.route(`**/ui/api/tokens/${ID}`, async (route) => {
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      await route.continue();
    });
    await page.keyboard.press('v');
    await page.click('a.row >> nth=3');
    answer();
    await settle(page);
    expect((await holdings(page)).includes(NUMBER)).toBe(false);
  });
});

describe('plaintext', async () => {
  const page = await openToken();

  it.each(ENDS)('is shown, and removed by %s', async (name, end) => {
    await openToken(page);
    await page.keyboard.press('v');
    await page.waitForSelector('.plain .json-text');
    expect(await page.textContent('.plain')).toContain(NUMBER);
    expect((await holdings(page)).includes(NUMBER)).toBe(true);
    await end(page);
    await page.waitForFunction(() => (document.querySelector('.plain')?.textContent ?? '') === '');
    expect((await holdings(page)).includes(NUMBER)).toBe(false);
    if (OTHERS.includes(name)) expect((await heapOf(page)).includes(NUMBER)).toBe(false);
  });
});

it('a reveal leaves an audit entry, but a list does not', async () => {
  const before = await vault.management.listLogs({ query: { size: 100 } });
  const page = await openToken();
  await page.goto(`${vault.url}/ui/see-as?token=${ID}`);
  await page.waitForSelector('.verdict');
  const newest = before.data[0]?.id ?? '';
  expect((await vault.management.listLogs({ query: { after: newest } })).data).toEqual([]);
  await page.keyboard.press('v');
  await page.waitForSelector('.plain .json-text');
  const { data } = await vault.management.listLogs({ query: { after: newest } });
  expect(data.map(({ operation, entity_id, revealed }) => [operation, entity_id, revealed])).toEqual([
    ['getToken', ID, true],
  ]);
});

it('API keys are in no script storage and in no readable cookie', async () => {
  const { page } = await open();
  expect(await page.evaluate(() => document.cookie)).toBe('');
  const kept = await page.evaluate(() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }]));
  expect(kept).not.toContain('key_');
  expect((await heapOf(page)).includes(vault.private_key)).toBe(false);
  const [cookie] = await page.context().cookies();
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/ui/', expires: -1 });
});

it('a copy does not show the plaintext', async () => {
  const { page } = await open();
  await page.clock.install();
  // Record writes to the clipboard, because the policy of the page forbids reading it.
  await page.addInitScript(() => {
    const written: string[] = [];
    Object.assign(globalThis, { written });
    navigator.clipboard.writeText = async (text) => void written.push(text);
  });
  await page.goto(`${vault.url}/ui/tokens?token=item-0006`);
  await page.click('text=Copy without showing');
  await page.waitForSelector('.toast:has-text("Copied")');
  expect((await holdings(page)).includes('Secret 6')).toBe(false);
  const written = () => page.evaluate(() => Reflect.get(globalThis, 'written'));
  expect(await written()).toEqual(['Secret 6']);
  await page.clock.runFor(31_000);
  expect(await written()).toEqual(['Secret 6', '']);
});
