import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { createClient } from '../../src/client/create-client.ts';
import type { AccessRule } from '../../src/contract/permissions.ts';
import { findBarriers, findFaults, heapOf, overflow, rule, settle, startBoth } from './fixture.ts';

// Lists, their filter, and the frame around them.

const LONG = 'Billing and reconciliation of merchant accounts, region two '.repeat(3);
const ARABIC = 'خدمة تسوية المدفوعات للعملاء في المنطقة';
const CARD = '4000000000209611';
const PCI_MASK: AccessRule = {
  ...{ description: '', priority: 1, transform: 'mask', permissions: ['token:read'] },
  conditions: [{ attribute: 'container', operator: 'equals', value: '/pci/eu/' }],
};
const NEVER = '00000000-0000-4000-8000-000000000000';

const { vault, open } = await startBoth();
const metadata = { customer: '42', note: LONG };
const items = Array.from({ length: 60 }, (_, n) => [
  {
    type: 'card',
    data: { number: CARD, expiration_month: 6, expiration_year: 2030, cvc: '123' },
    containers: ['/pci/eu/', '/pci/restricted/northern-europe/settlements/'],
    metadata,
  },
  { type: 'bank', data: { routing_number: '021000021', account_number: `12345${1000 + n}` }, metadata },
  { type: 'social_security_number', data: `123-45-${1000 + n}`, expires_at: '2099-01-01' },
  {
    id: `a-record-that-somebody-imported-from-the-old-system-${n}`,
    ...{ type: 'token', data: { name: 'Ada', tags: [LONG] }, mask: { name: '{{ data.name }}', tags: [LONG] } },
  },
]);
await vault.client.tokenize({ body: items.flat() });
const { key = '' } = await vault.management.createApplication({
  body: { name: LONG, type: 'private', rules: [rule(1, '/', 'reveal')], can_create_expiring_applications: true },
});
const own = createClient({ url: vault.url, apiKey: key });
await own.createApplication({
  body: {
    name: 'till',
    type: 'expiring',
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    rules: [PCI_MASK],
  },
});
const { data } = await own.listTokens({ query: { size: 4 } });
for (const { id } of data) await own.getToken({ params: { id } });
await vault.management.getToken({ params: { id: data[0]?.id ?? '' } }).catch(() => undefined);
await vault.management.getToken({ params: { id: 'short' } }).catch(() => undefined);
await vault.management.createApplication({
  body: { name: ARABIC, type: 'private', rules: [rule(1, '/', 'mask')] },
});
for (let n = 0; n < 12; n += 1) {
  await vault.management.createApplication({
    body: { name: `reader-${n}`, type: 'private', rules: [rule(1, '/', 'mask')] },
  });
}

const LISTS = ['tokens', 'see-as', 'applications', 'audit'];

/** Returns what is wrong with the rows of a list, measured. */
const findUnevenness = (page: Page): Promise<readonly string[]> =>
  page.evaluate(() => {
    const rows = [...document.querySelectorAll<HTMLElement>('.list tbody tr')];
    const cellsOf = (row: Element) => [...row.children].filter((cell) => cell.checkVisibility());
    const heads = cellsOf(document.querySelector('.list thead tr') ?? document.body);
    const lefts = heads.map((head) => head.getBoundingClientRect().left);
    const wrong = new Set<string>();
    const sizes = new Set<string>();
    if (rows.length === 0) wrong.add('no row');
    for (const row of rows) {
      const { height } = row.getBoundingClientRect();
      if (height < 32 || height > 40) wrong.add(`a row of ${Math.round(height)} px`);
      cellsOf(row).forEach((cell, n) => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        const boxes = [...range.getClientRects()].filter((box) => box.width > 1);
        const middles = boxes.map((box) => box.top + box.height / 2);
        if (Math.max(...middles) - Math.min(...middles) > 6) wrong.add(`column ${n} has two lines`);
        if (Math.abs(cell.getBoundingClientRect().left - (lefts[n] ?? 0)) > 1) wrong.add(`column ${n} is not aligned`);
        for (const part of [cell, ...cell.querySelectorAll('*:not(svg, path)')])
          sizes.add(getComputedStyle(part).fontSize);
      });
      const isCut = ({ scrollWidth, clientWidth }: Element) => scrollWidth > clientWidth;
      const masked = [...row.querySelectorAll('td')].filter(({ textContent }) => textContent?.startsWith('••••'));
      if (masked.some(isCut)) wrong.add('a masked value is cut');
      const ids = row.querySelector('td .id')?.getBoundingClientRect();
      const { top } = row.getBoundingClientRect();
      if (ids?.height && Math.abs(ids.top + ids.height / 2 - top - height / 2) > 1.5)
        wrong.add('an id is not in the middle');
      const short = [...row.querySelectorAll('.row:has(.when), td:has(.result, .sees), .badge, .outcome, .short')];
      if (short.some(isCut)) wrong.add('a time or a result is cut');
      const end = row.querySelector('.id > :last-child');
      const cell = end?.closest('th, td');
      const next = cell?.querySelector('.copy') ?? cell?.nextElementSibling;
      if (end === null || next == null) continue;
      const isWhole = end.scrollWidth <= end.clientWidth || getComputedStyle(end).overflow === 'visible';
      const { right } = end.getBoundingClientRect();
      const limits = [next.getBoundingClientRect().left, cell?.getBoundingClientRect().right ?? 0];
      const isFree = limits.every((limit) => right <= limit + 1);
      if (!isWhole || !isFree) wrong.add('the end of an id is cut');
      const start = end.previousElementSibling;
      if (start !== null && isCut(start) && start.clientWidth < 12) wrong.add('the ellipsis of an id is cut');
    }
    if (sizes.size > 2) wrong.add(`${sizes.size} sizes of type`);
    return [...wrong];
  });

describe('a list with long values', async () => {
  // A zone with an offset has the longest times.
  const { page } = await open('', { timezoneId: 'America/St_Johns' });

  async function show(screen: string, width: number): Promise<void> {
    await page.setViewportSize({ width, height: 800 });
    await page.goto(`${vault.url}/ui/${screen}`);
    await page.waitForSelector('.list a.row');
  }

  it.each([375, 1024, 1280, 1600].flatMap((width) => LISTS.map((name) => [name, width] as const)))(
    'has even rows of one line (%s, %i px)',
    async (name, width) => {
      await show(name, width);
      expect(await findUnevenness(page)).toEqual([]);
      expect(await overflow(page)).toBeLessThanOrEqual(0);
    },
  );

  it.each(LISTS)('has even rows beside an open pane (%s)', async (name) => {
    await show(name, 1280);
    // The long id would take two lines of the pane's title.
    await page.click('a.row:not(:has-text("a-record"))');
    await page.waitForSelector('.pane');
    expect(await findUnevenness(page)).toEqual([]);
    const headers = await page.$$eval('.list > header, .pane > header', (all) => all.map((each) => each.clientHeight));
    if (name === 'tokens' || name === 'applications') expect(headers[0]).toBe(headers[1]);
    if (name === 'tokens' || name === 'see-as') await page.waitForSelector('.pane caption', { state: 'attached' });
    expect(await page.evaluate(() => document.documentElement.scrollHeight - innerHeight)).toBe(0);
    await page.setViewportSize({ width: 375, height: 720 });
    expect(await findBarriers(page)).toEqual([]);
  });

  it('has controls of one height in its header', async () => {
    for (const name of LISTS) {
      await show(name, 1280);
      const controls = '.list > header :is(input, select, button, summary)';
      const heights = await page.$$eval(controls, (all) => all.map((each) => each.getBoundingClientRect().height));
      expect([name, Math.max(...heights) - Math.min(...heights)]).toEqual([name, expect.closeTo(0, 0)]);
    }
  });

  it.each(['tokens', 'audit'])('shows commands inside the window of a phone, in a legible size (%s)', async (name) => {
    await show(name, 375);
    for (const summary of await page.locator('.list .command > summary').all()) {
      await summary.click();
      const box = await page.locator('.list .command[open] > div').boundingBox();
      expect(box?.x).toBeGreaterThanOrEqual(0);
      expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(375);
      const sizes = await page.$$eval('.command[open] code', (all) =>
        all.map((each) => getComputedStyle(each).fontSize),
      );
      for (const size of sizes) expect(Number.parseFloat(size)).toBeGreaterThanOrEqual(10.5);
      await page.keyboard.press('Escape');
    }
  });

  it('cuts a name at its end, also from right to left', async () => {
    await show('applications', 375);
    const row = page.locator(`a.row:has-text("${ARABIC}")`);
    const isStartVisible = () =>
      row.evaluate((link) => {
        const range = document.createRange();
        range.setStart(link.firstChild ?? link, 0);
        range.setEnd(link.firstChild ?? link, 1);
        return range.getBoundingClientRect().right <= link.getBoundingClientRect().right + 1;
      });
    expect(await row.evaluate(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)).toBe(true);
    expect(await isStartVisible()).toBe(true);
    await row.evaluate((link) => link.setAttribute('dir', 'ltr'));
    expect(await isStartVisible()).toBe(false);
  });

  it('keeps the ends of ids, and one line for a name, beside three compared applications', async () => {
    for (const width of [375, 1280]) {
      await show('see-as', width);
      for (const label of [LONG.trim(), 'reader-3']) {
        await page.selectOption('select[aria-label="Compare with"]', { label });
        await page.waitForSelector(`.list > header .tag:has-text("${label.slice(0, 8)}")`);
      }
      expect(await findUnevenness(page)).toEqual([]);
      for (const tag of await page.locator('.list > header .tag').all())
        expect((await tag.boundingBox())?.height).toBeLessThan(30);
    }
  });

  it.each([
    ['.list tbody td', { whiteSpace: 'normal', height: '200px' }, 'a row of'],
    ['.list td.code', { whiteSpace: 'normal', overflowWrap: 'anywhere' }, 'has two lines'],
    ['.list tbody tr', { display: 'flex' }, 'is not aligned'],
    ['.id > :last-child', { overflow: 'hidden', width: '40px' }, 'the end of an id is cut'],
    ['.rows .row', { maxWidth: 'none', width: '30rem' }, 'the end of an id is cut'],
    ['.id > :first-child', { width: '4px' }, 'the ellipsis of an id is cut'],
    ['.list td.code', { fontSize: '20px' }, '3 sizes of type'],
    ['.list td.code', { letterSpacing: '4px' }, 'a masked value is cut'],
    ['.list .when', { letterSpacing: '4px' }, 'a time or a result is cut'],
    ['.list .result', { paddingLeft: '40px' }, 'a time or a result is cut'],
    ['.list td .id', { verticalAlign: 'baseline' }, 'an id is not in the middle'],
    ['.list td .id > :last-child', { overflow: 'hidden', width: '40px' }, 'the end of an id is cut'],
  ])('control: %s with %o', async (selector, style, fault) => {
    await show(/when|result|td .id/.test(selector) ? 'audit' : 'tokens', 1024);
    await page.evaluate(
      ([selector, style]) => {
        for (const each of document.querySelectorAll<HTMLElement>(selector)) Object.assign(each.style, style);
      },
      [selector, style] as const,
    );
    expect(await findUnevenness(page)).toContainEqual(expect.stringContaining(fault));
  });

  it.each([
    ['card', /^•••• 9611 · 06\/2030$/],
    ['bank', /^•••• 10\d\d · 021000021$/],
    ['social_security_number', /^•••• 10\d\d$/],
  ])('shows a %s as %s', async (type, text) => {
    await show(`tokens?q=type:${type}`, 1280);
    expect(await page.locator('.list tbody tr').first().locator('td', { hasText: '••••' }).textContent()).toMatch(text);
  });

  it('shows other data as JSON', async () => {
    await show('tokens?q=type:token', 1280);
    expect(await page.textContent('.list tbody tr')).toContain('{"name":"Ada","tags":["Billing');
  });

  it('has a bar of one row on a phone, and nothing to scroll sideways', async () => {
    for (const screen of ['tokens', 'see-as', 'applications', 'usage']) {
      await page.setViewportSize({ width: 375, height: 720 });
      await page.goto(`${vault.url}/ui/${screen}`);
      await page.waitForSelector('main h1', { state: 'attached' });
      await settle(page);
      expect([screen, await overflow(page)]).toEqual([screen, 0]);
      const height = (selector: string) => page.$eval(selector, (bar) => bar.getBoundingClientRect().height);
      expect(await height('nav')).toBeLessThanOrEqual(56);
      if (screen === 'tokens') expect(await height('.list > header')).toBeLessThanOrEqual(56);
      if (screen === 'tokens') expect(await findUnevenness(page)).toEqual([]);
    }
    await page.click('nav button:has-text("Menu")');
    await page.click('nav a:has-text("Tokens")');
    await page.waitForSelector('nav:not(.open) .at:has-text("Tokens")');
  });

  it('leaves room for the filter beside an application with a long name', async () => {
    await show('see-as', 1280);
    await page.selectOption('select[aria-label=Application]', { label: `${LONG} (private)` });
    expect((await page.locator('.filter [role=combobox]').boundingBox())?.width).toBeGreaterThan(200);
  });

  it('cuts the names that Ctrl K finds inside its box', async () => {
    await show('tokens', 1280);
    await page.keyboard.press('Control+k');
    await page.fill('.palette input', 'billing');
    const option = page.locator('.palette [role=option]').first();
    await option.waitFor();
    const right = async (selector: string) => {
      const box = await page.locator(selector).first().boundingBox();
      return (box?.x ?? 0) + (box?.width ?? 0);
    };
    expect(await right('.palette [role=option] small')).toBeLessThan(await right('.palette input'));
    // The control: without the cut, the name is wider than the box.
    const width = await option.locator('span').evaluate(({ scrollWidth }) => scrollWidth);
    expect(width).toBeGreaterThan((await page.locator('.palette').boundingBox())?.width ?? 0);
    await page.keyboard.press('Escape');
  });

  it('lists five readers of a token, and the others behind a search', async () => {
    await show('tokens', 1280);
    await page.click('a.row');
    const readers = page.locator('.pane table tbody tr');
    await expect.poll(() => readers.count()).toBe(5);
    await page.fill('.pane input[type=search]', 'reader-7');
    await expect.poll(() => readers.allTextContents()).toEqual([expect.stringContaining('reader-7')]);
  });

  it('copies the id of a row', async () => {
    await show('tokens', 1280);
    await page.evaluate(() => {
      const writeText = (text: string) => Promise.resolve(void Object.assign(globalThis, { copied: text }));
      Object.defineProperty(navigator.clipboard, 'writeText', { value: writeText });
    });
    await page.click('.copy >> nth=0');
    await page.waitForSelector('.toast:has-text("Copied")');
    const id = await page.textContent('a.row');
    expect([await page.evaluate(() => Reflect.get(globalThis, 'copied')), page.url()]).toEqual([
      id,
      expect.not.stringContaining('token='),
    ]);
  });
});

describe('the order and the selection', async () => {
  const { page } = await open();

  it('shows the oldest first, page by page', async () => {
    const ids = () => page.$$eval('a.row', (rows) => rows.map(({ textContent }) => textContent));
    await page.waitForSelector('footer:has-text("1–50 of 240")');
    const [newest] = await ids();
    await page.click('thead a');
    await page.waitForSelector('caption:has-text("oldest first")', { state: 'attached' });
    await expect.poll(async () => (await ids())[0]).not.toBe(newest);
    for (let at = 51; at <= 201; at += 50) {
      await page.click('footer button:has-text("Newer")');
      await page.waitForSelector(`footer:has-text("${at}–")`);
    }
    expect((await ids()).at(-1)).toBe(newest);
    await page.click('thead a');
    await page.waitForSelector('footer:has-text("1–50 of 240")');
    expect((await ids())[0]).toBe(newest);
  });

  it('exports the selected tokens, masked, and deletes them', async () => {
    await page.goto(`${vault.url}/ui/tokens?q=type:card`);
    await page.waitForSelector('footer:has-text("of 60")');
    await page.check('.check input >> nth=1');
    await page.focus('a.row >> nth=2');
    await page.keyboard.press('x');
    await page.waitForSelector('.tools:has-text("2 tokens selected")');
    expect(await findUnevenness(page)).toEqual([]);
    expect(await findBarriers(page)).toEqual([]);
    await page.setViewportSize({ width: 375, height: 720 });
    const bar = await page.locator('.list > .tools').boundingBox();
    expect((bar?.y ?? 0) + (bar?.height ?? 0)).toBeLessThanOrEqual(720);
    await page.setViewportSize({ width: 1280, height: 720 });
    const download = page.waitForEvent('download');
    await page.click('button:has-text("Export, masked")');
    const saved: readonly { readonly data: object }[] = JSON.parse(
      await readFile(await (await download).path(), 'utf8'),
    );
    expect(saved.map(({ data }) => data)).toEqual(
      Array(2).fill({ number: 'XXXXXXXXXXXX9611', expiration_month: 6, expiration_year: 2030 }),
    );
    await page.click('.tools button.danger');
    await page.fill('dialog input', '2 tokens');
    await page.click('dialog button.danger');
    await page.waitForSelector('footer:has-text("of 58")');
    expect(await page.locator('.tools').count()).toBe(0);
  });
});

describe('a filter', async () => {
  const { page, asked } = await open();

  async function filter(text: string): Promise<void> {
    await page.fill('.filter input', text);
    await page.keyboard.press('Enter');
  }

  it.each([
    ['type:nothing', 'position 6: unknown type'],
    ['colour:red', 'position 1: unknown field'],
    ['type:card AND', 'expected FIELD:VALUE'],
  ])('that is invalid (%s) shows an error at once', async (text, message) => {
    await filter(text);
    await page.waitForSelector(`.wrong:has-text("${message}")`);
  });

  it('sends what a list can filter to the list, and the rest to the search', async () => {
    const list = (query: string) => `/ui/api/v2/tokens?${query}&transform=mask&size=50`;
    const queries = [
      ['type:card customer=42', list('type=card&metadata.customer=42')],
      ['container:/pci/* AND (type:card OR type:bank)', list('container=/pci/&type=card&type=bank')],
      ['type:card NOT metadata.customer:7', '/ui/api/v2/tokens/search'],
      ['created_at:[2020-01-01 TO *] type:card', '/ui/api/v2/tokens/search'],
    ] as const;
    for (const [typed, path] of queries) {
      const before = asked.length;
      await filter(typed);
      await page.waitForSelector('footer:has-text("1–50 of 58")');
      const paths = asked.slice(before).map((each) => decodeURIComponent(each.slice(vault.url.length)));
      expect(paths).toContain(path);
      await filter('');
      await page.waitForSelector('footer:has-text("1–50 of 238")');
    }
  });

  it('is the address of the list', async () => {
    await filter('type:card customer=42');
    await page.waitForSelector('footer:has-text("of 58")');
    const saved = page.url();
    await page.goto(`${vault.url}/ui/tokens`);
    await page.goto(saved);
    await page.waitForSelector('footer:has-text("of 58")');
    expect(await page.inputValue('.filter input')).toBe('type:card metadata.customer:42');
  });

  it('opens the token or the application that has a pasted id', async () => {
    const { data } = await vault.client.listTokens({ query: { type: ['card'], size: 1 } });
    const applications = await vault.management.listApplications({ query: { size: 1 } });
    const [token, application] = [data[0]?.id ?? '', applications.data[0]?.id ?? ''];
    await filter(token);
    await page.waitForSelector(`.pane h2:has-text("${token}")`);
    await filter(application);
    await page.waitForSelector('h1:has-text("Applications")');
    await page.waitForSelector('.pane h2:has-text("reader-11")');
    await page.goto(`${vault.url}/ui/tokens`);
    await filter(NEVER);
    await page.waitForSelector('.empty:has-text("No token matches")');
  });

  it('finds a pasted fingerprint', async () => {
    const { data } = await vault.client.listTokens({ query: { type: ['bank'], size: 1 } });
    await filter(data[0]?.fingerprint ?? '');
    await page.waitForSelector('footer:has-text("1–1 of 1")');
    expect(page.url()).toContain('q=fingerprint%3A');
  });

  it('completes fields, types and dates', async () => {
    await page.fill('.filter input', '');
    await page.focus('.filter input');
    await page.keyboard.type('ty');
    await page.keyboard.press('Tab');
    await page.keyboard.type('ca');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    expect(await page.inputValue('.filter input')).toBe('type:card');
    await page.keyboard.type(' created_at:');
    await page.keyboard.press('Tab');
    expect(await page.inputValue('.filter input')).toMatch(/^type:card created_at:\[\d{4}-\d\d-\d\dT00:00Z TO \*\]$/);
    await page.keyboard.press('Enter');
    await page.waitForSelector('footer:has-text("of 58")');
  });

  it('chooses days in the time zone of the browser', async () => {
    const { page: far } = await open('', { timezoneId: 'Pacific/Kiritimati' });
    const { data } = await vault.client.listTokens({ query: { type: ['card'], size: 1 } });
    const created = Date.parse(data[0]?.created_at ?? '');
    const [before, day, after] = [-1, 0, 1].map((days) =>
      new Date(created + (14 + 24 * days) * 3_600_000).toISOString().slice(0, 10),
    );
    const choose = async (from = '', to = from) => {
      await far.focus('.dates summary');
      await far.keyboard.press('Enter');
      await far.fill('[name=From]', from);
      await far.fill('[name=To]', to);
      await far.keyboard.press('Enter');
    };
    await far.fill('.filter input', 'type:card');
    await choose(day);
    await far.waitForSelector('footer:has-text("of 58")');
    const range = `created_at:[${day}T00:00+14:00 TO ${after}T00:00+14:00}`;
    expect(new URL(far.url()).searchParams.get('q')).toBe(`type:card AND ${range}`);
    await choose(before);
    await far.waitForSelector('.empty:has-text("No token matches")');
    await far.reload();
    await far.click('.dates summary');
    expect(await far.inputValue('[name=To]')).toBe(before);
    expect(await findFaults(far)).toEqual([]);
    await far.setViewportSize({ width: 320, height: 640 });
    expect((await far.locator('.dates form').boundingBox())?.x).toBeGreaterThanOrEqual(0);
    await far.keyboard.press('Escape');
    expect(await far.locator('.dates[open]').count()).toBe(0);
    await choose();
    await far.waitForSelector('footer:has-text("of 58")');
  });

  it('says how cards get a search index when four digits find none', async () => {
    await filter('9611');
    await page.waitForSelector('.empty:has-text("{{ data.number | last4 }}")');
    expect(page.url()).not.toContain('9611');
  });

  it('by a value leaves the address, the requests and, at Lock, the memory', { timeout: 120_000 }, async () => {
    const value = '123-45-1009';
    await filter(value);
    // Other ways to wait keep elements, or their text, in memory.
    await expect.poll(() => page.locator('.list tbody tr').count()).toBe(1);
    expect([page.url(), ...asked].filter((each) => each.includes(value))).toEqual([]);
    // The control: the filter is in memory while it is shown.
    expect(await heapOf(page)).toContain(value);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+l');
    await page.locator('main.locked').waitFor();
    await expect.poll(async () => (await heapOf(page)).includes(value)).toBe(false);
  });

  it('that needs token:search says so', async () => {
    const { page: limited } = await open();
    await limited.route('**/ui/session', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, body: (await response.text()).replaceAll('token:search', 'token:use') });
    });
    await limited.reload();
    await limited.waitForSelector('a.row');
    await limited.fill('.filter input', 'NOT type:card');
    await limited.keyboard.press('Enter');
    await limited.waitForSelector('.wrong:has-text("needs a key with token:search")');
    await limited.fill('.filter input', 'type:card customer=42');
    await limited.keyboard.press('Enter');
    await limited.waitForSelector('footer:has-text("of 58")');
  });
});
