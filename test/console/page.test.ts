import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { fill, findBarriers, findFaults, openConsole, rule, settle, startBoth, startDev } from './fixture.ts';

// Design of the console, §10: checks 1, 2, 7 to 11, 14 to 17 and 24.

/** Every screen, also with an open pane. */
const SCREENS = [
  'tokens',
  'tokens?token=item-0000',
  'tokens?draft=new',
  'see-as',
  'see-as?token=item-0000',
  'applications',
  ...['audit?live=off', 'usage', 'health'],
  'no-such-screen',
];

/** Pixels from the top of the window to the first row of a list. */
const NEAR_THE_TOP = expect.toSatisfy((y: number) => y < 200);

const { browser, vault, open } = await startBoth();
await fill(vault, 120);
await vault.management.createApplication({
  body: { name: 'payments', type: 'private', rules: [rule(1, '/pci/test/', 'redact'), rule(2, '/pci/', 'reveal')] },
});

describe('the documentation', () => {
  it('opens at the section of each screen, without pictures', async () => {
    const { page } = await open();
    const text = await (await fetch(`${vault.url}/ui/docs/console.md`)).text();
    expect(text).not.toContain('![');
    const names = await page.$$eval('nav li a', (links) => links.map(({ firstChild }) => firstChild?.textContent));
    expect(names).toHaveLength(7);
    for (const name of names) {
      await page.click(`nav li a:has-text("${name}")`);
      await page.waitForSelector(`h1:has-text("${name}")`);
      const href = await page.getAttribute('nav a:has-text("Documentation")', 'href');
      expect(decodeURIComponent(href ?? '')).toBe(`/ui/docs/console.md#:~:text=# ${name}`);
      expect(text).toContain(`\n## ${name}\n`);
    }
    await page.click('nav li a:has-text("See as")');
    const popup = page.waitForEvent('popup');
    await page.click('nav a:has-text("Documentation")');
    await (await popup).waitForFunction(() => scrollY > 0);
    // The control: without a section, the page opens at its start.
    await page.goto(`${vault.url}/ui/docs/console.md`);
    expect(await page.evaluate(() => scrollY)).toBe(0);
  });
});

describe('a walk through every screen', () => {
  it('has no accessibility violation, sends requests to its own origin only and violates no policy', {
    timeout: 120_000,
  }, async () => {
    const { page, asked, complaints } = await open();
    for (const screen of SCREENS) {
      await page.goto(`${vault.url}/ui/${screen}`);
      await settle(page);
      expect([screen, ...(await findFaults(page))]).toEqual([screen]);
      const firstRow = page.locator('.list tbody tr:has(a.row)').first();
      if ((await firstRow.count()) > 0)
        expect([screen, (await firstRow.boundingBox())?.y]).toEqual([screen, NEAR_THE_TOP]);
    }
    await page.keyboard.press('?');
    expect(await findFaults(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+l');
    await page.waitForSelector('main.locked');
    expect(await findFaults(page)).toEqual([]);
    expect(new Set(asked.map((each) => new URL(each).origin))).toEqual(new Set([vault.url]));
    expect(complaints).toEqual([]);
  });

  it('control: reports violations', async () => {
    const { page } = await open();
    await settle(page);
    await page.evaluate(() => {
      const dim = Object.assign(document.createElement('font'), { color: '#333', textContent: 'dim in the dark' });
      const wide = Object.assign(document.createElement('pre'), { textContent: 'x'.repeat(99) });
      document.querySelector('main')?.append(document.createElement('img'), dim, wide);
    });
    expect(await findFaults(page)).toEqual([
      expect.stringContaining('image-alt'),
      expect.stringContaining('dark: color-contrast'),
      expect.stringContaining('pixels too wide'),
    ]);
  });
});

describe('the keyboard', () => {
  it('opens a row, and Esc returns to it', async () => {
    const { page } = await open();
    await page.waitForSelector('a.row');
    for (const key of ['j', 'j', 'ArrowDown', 'k']) await page.keyboard.press(key);
    const focused = () => page.evaluate(() => document.activeElement?.textContent);
    const id = await focused();
    await page.keyboard.press('Enter');
    await page.waitForSelector('.pane');
    expect(await page.textContent('.pane h2')).toBe(id);
    expect(await page.evaluate(() => document.activeElement?.className)).toBe('pane');
    await page.keyboard.press('Escape');
    await page.waitForSelector('.pane', { state: 'detached' });
    expect(await focused()).toBe(id);
  });

  it('reaches and leaves every control', async () => {
    const { page } = await open('tokens?token=item-0000');
    await page.waitForSelector('.reveal button');
    const wanted = await page.evaluate(() => {
      const controls = [...document.querySelectorAll('a, button, input, select')] as HTMLElement[];
      const seen = controls.filter(
        (each) => each.tabIndex >= 0 && each.checkVisibility() && !each.matches(':disabled'),
      );
      for (const [at, each] of seen.entries()) each.dataset['stop'] = String(at);
      return seen.length;
    });
    const stops = new Set<string | undefined>();
    for (let press = 0; press < wanted + 5; press += 1) {
      await page.keyboard.press('Tab');
      stops.add(await page.evaluate(() => (document.activeElement as HTMLElement | null)?.dataset['stop']));
    }
    stops.delete(undefined);
    expect(stops.size).toBe(wanted);
  });

  it('changes screen, page and filter unless the setting is off', async () => {
    const { page } = await open();
    await page.waitForSelector('footer:has-text("1–50 of 120")');
    await page.keyboard.press(']');
    await page.waitForSelector('footer:has-text("51–100 of 120")');
    await page.keyboard.press(']');
    await page.waitForSelector('footer:has-text("101–120 of 120")');
    await page.keyboard.press('[');
    await page.keyboard.press('[');
    await page.waitForSelector('footer:has-text("1–50 of 120")');
    await page.keyboard.press('/');
    await page.keyboard.type('type:card customer=1002');
    await page.keyboard.press('Enter');
    await page.waitForSelector('footer:has-text("1–1 of 1")');
    expect(page.url()).toContain('q=type%3Acard+metadata.customer%3A1002');
    await page.keyboard.press('Escape');
    // The second key must follow within a second, which a busy machine may miss. A key before both has no effect.
    await page.keyboard.press('s');
    const pressBoth = async () => {
      await page.keyboard.press('g');
      await page.keyboard.press('s');
      return page.textContent('h1');
    };
    await expect.poll(pressBoth).toBe('See as');
    await page.keyboard.press('?');
    await page.uncheck('dialog input');
    await page.click('dialog button');
    await page.keyboard.press('g');
    await page.keyboard.press('t');
    await page.waitForTimeout(100);
    expect(await page.textContent('h1')).toBe('See as');
  });
});

describe('Compare', () => {
  it('shows applications side by side and removes one', async () => {
    const { page } = await open('see-as');
    const heads = () => page.$$eval('.list thead th', (all) => all.map(({ textContent }) => textContent));
    await page.waitForSelector('.list thead th:has-text("Sees")');
    await page.selectOption('select[aria-label="Compare with"]', { label: 'private' });
    await page.waitForSelector('.list thead th:has-text("private")');
    expect(await heads()).toEqual(['Token', 'Containers', 'payments', 'private']);
    // A social security number is outside /pci/.
    const row = await page.$$eval('tbody tr:has([href*=item-0119]) .sees', (all) =>
      all.map((each) => each.textContent),
    );
    expect(row).toEqual(['nothing', 'reveal']);
    expect(await findBarriers(page)).toEqual([]);
    await page.click('a[aria-label="Compare without private"]');
    await page.waitForSelector('.list thead th:has-text("Sees")');
  });
});

describe('Ctrl K', async () => {
  const { page } = await open();

  it('opens a dialog; Esc closes only the dialog', async () => {
    await page.goto(`${vault.url}/ui/tokens?token=item-0000`);
    await page.waitForSelector('.pane');
    await page.keyboard.press('Control+k');
    await page.waitForSelector('dialog[open]');
    expect(await findBarriers(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.waitForSelector('dialog[open]', { state: 'detached' });
    expect(await page.$('.pane')).not.toBeNull();
  });

  it.each([
    ['see', 'h1:has-text("See as")'],
    ['item-0003', '.pane:has-text("item-0003")'],
    ['show all shortcuts', 'dialog[open]:has-text("Shortcuts")'],
    ['lock', 'main.locked'],
  ])('finds %s at %s', async (typed, wanted) => {
    await page.goto(`${vault.url}/ui/tokens`);
    await page.waitForSelector('a.row');
    await page.keyboard.press('Control+k');
    await page.keyboard.type(typed);
    await page.keyboard.press('Enter');
    await page.waitForSelector(wanted);
  });
});

it('shows markup, quotes and unusual characters as text', async () => {
  const odd = `<img src=x onerror=alert(1)>"'&lt;${'x'.repeat(300)}`;
  const id = `id-"'(!)$*,;:@~\u05d0${'x'.repeat(300)}`;
  const metadata = { note: odd.slice(0, 60) };
  await vault.client.createToken({ body: { id, type: 'token', data: odd, mask: odd, metadata } });
  await vault.management.createApplication({
    body: { name: odd.slice(0, 80), type: 'private', permissions: ['token:read'] },
  });
  const { page, complaints } = await open();
  for (const screen of ['tokens', 'see-as']) {
    await page.goto(`${vault.url}/ui/${screen}?${new URLSearchParams({ token: id })}`);
    await settle(page);
    expect(await page.textContent('.pane h2')).toContain(id);
  }
  expect(await page.textContent('body')).toContain(metadata.note);
  expect(await page.evaluate(() => document.querySelectorAll('img[src=x]').length)).toBe(0);
  expect(complaints).toEqual([]);
  await vault.client.deleteToken({ params: { id } });
});

describe('injected code', async () => {
  const { page } = await open();

  /** Each expression returns whether the attack was blocked. */
  const ATTACKS: readonly (readonly [string, string])[] = [
    [
      'a script element',
      "const s = document.createElement('script'); s.append('window.hit = 1'); document.head.append(s); !window.hit",
    ],
    [
      'markup',
      "(() => { try { document.body.innerHTML = '<b id=hit>'; } catch {} return !document.querySelector('#hit'); })()",
    ],
    ['a string timer', "(() => { try { setTimeout('window.hit = 1', 0); } catch { return true; } return false; })()"],
    ['a foreign request', "fetch('http://127.0.0.1:1/').then(() => false, () => true)"],
    [
      'a style element',
      "const e = document.createElement('style'); e.append('body { color: red }'); document.head.append(e); getComputedStyle(document.body).color !== 'rgb(255, 0, 0)'",
    ],
    [
      'a style attribute',
      "document.body.setAttribute('style', 'color: red'); getComputedStyle(document.body).color !== 'rgb(255, 0, 0)'",
    ],
  ];

  it.each(ATTACKS)('%s is blocked, and reported', async (_, attack) => {
    await page.goto(`${vault.url}/ui/tokens`);
    await page.waitForSelector('a.row');
    await page.evaluate(() => {
      const reports: string[] = [];
      Object.assign(globalThis, { reports });
      document.addEventListener('securitypolicyviolation', (event) => reports.push(event.effectiveDirective));
    });
    expect(await page.evaluate(`(async () => await eval(${JSON.stringify(attack)}))()`)).toBe(true);
    await expect.poll(() => page.evaluate(() => Reflect.get(globalThis, 'reports').length)).toBeGreaterThan(0);
  });

  it('control: a style element works under a weaker policy', async () => {
    await page.route('**/ui/', async (route) => {
      const response = await route.fetch();
      const policy = response.headers()['content-security-policy'] ?? '';
      const weaker = policy.replace("style-src 'self'", "style-src 'unsafe-inline'");
      await route.fulfill({ response, headers: { ...response.headers(), 'content-security-policy': weaker } });
    });
    await page.goto(`${vault.url}/ui/`);
    expect(await page.evaluate(`(async () => await eval(${JSON.stringify(ATTACKS[4]?.[1])}))()`)).toBe(false);
  });
});

describe('a session', () => {
  it('removes the code from the address and the history', async () => {
    const { page } = await open();
    expect(page.url()).not.toContain('code');
    expect(await page.evaluate(() => history.length)).toBeLessThanOrEqual(2);
  });

  it('needs one request before the list, and asks for the list once', async () => {
    const { page, asked } = await open();
    await settle(page);
    const requests = asked.map((each) => each.slice(`${vault.url}/ui/`.length));
    const [opens, lists] = [/^session$/, /^api\/v2\/tokens/].map((path) => requests.filter((each) => path.test(each)));
    expect([opens, lists]).toEqual([['session'], ['api/v2/tokens?transform=mask&size=50']]);
  });

  it('is shared by tabs and locked in all of them', async () => {
    const { page } = await open();
    const second = await page.context().newPage();
    await second.goto(`${vault.url}/ui/see-as`);
    await second.waitForSelector('h1:has-text("See as")');
    await page.keyboard.press('Control+l');
    await Promise.all([page, second].map((each) => each.waitForSelector('main.locked')));
    expect(await second.textContent('body')).not.toContain('item-');
    await second.reload();
    await second.waitForSelector('main.locked');
  });

  it('stays locked when a reply comes after the lock', async () => {
    const { page } = await open();
    const [answered, locked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await page.route('**/ui/session/keys', async (route) => {
      const response = await route.fetch();
      answered.resolve();
      await locked.promise;
      await route.fulfill({ response });
    });
    await page.click('text=Add a key');
    await page.fill('[type=password]', vault.private_key);
    await page.click('text=Use this key');
    await answered.promise;
    await page.keyboard.press('Control+l');
    await page.waitForSelector('main.locked');
    // The next request of an open page would lock it again.
    await page.evaluate(() => {
      const look = () => document.querySelector('main.locked') ?? document.body.classList.add('was-open');
      new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
    });
    const reply = page.waitForResponse('**/ui/session/keys');
    locked.resolve();
    expect((await reply).status()).toBe(200);
    await settle(page);
    expect(
      await page.locator('main.locked, body.was-open').evaluateAll((all) => all.map((each) => each.className)),
    ).toEqual(['locked']);
  });

  it('waits when the daemon ends, and is locked after its restart', async () => {
    const other = await startDev();
    const { page } = await openConsole(browser, other);
    await page.clock.install();
    await page.reload();
    await page.waitForSelector('h1:has-text("Tokens")');
    await other.end();
    await page.clock.runFor(15_000);
    await page.waitForSelector('main.outage');
    const again = await startDev(['--port', new URL(other.url).port]);
    await page.clock.runFor(15_000);
    await page.waitForSelector('main.locked:has-text("To come back")');
    await again.end();
  });
});

describe('a page of another port', async () => {
  const { page } = await open();
  const server = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<!doctype html>'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  beforeEach(() => page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  afterAll(() => void server.close());

  it.each([
    ['reads nothing', "fetch(URL + '/ui/api/tokens', { credentials: 'include', headers: { 'x-vault-console': 'x' } })"],
    ['opens no session', "fetch(URL + '/ui/session', { method: 'POST', body: '{}', credentials: 'include' })"],
    ['locks no session', "fetch(URL + '/ui/session', { method: 'DELETE', credentials: 'include' })"],
    [
      'frames nothing',
      "new Promise((resolve, reject) => { const f = document.createElement('iframe'); f.src = URL + '/ui/'; f.onload = () => (f.contentDocument === null ? reject() : resolve(f.contentDocument.body.textContent)); document.body.append(f); })",
    ],
    ['reads no script', 'import(URL + document.title)'],
  ])('%s', async (_, attack) => {
    const text = attack.replaceAll('URL', JSON.stringify(vault.url));
    const outcome = await page.evaluate(`(${text}).then((r) => 'read ' + (r.status ?? r), () => 'refused')`);
    expect(outcome).toMatch(/^(refused|read )$|^read (401|403)$/);
    await page.goto(`${vault.url}/ui/tokens`);
    await page.waitForSelector('a.row');
  });

  it('has no handle on a window of the console', async () => {
    const popup = page.context().waitForEvent('page');
    await page.evaluate((url) => Object.assign(globalThis, { opened: open(`${url}/ui/tokens`) }), vault.url);
    await (await popup).waitForLoadState();
    await expect.poll(() => page.evaluate(() => Reflect.get(globalThis, 'opened').closed)).toBe(true);
  });
});

it('the console does not exist without --dev or with --no-ui', async () => {
  const plain = await startDev(['--no-ui']);
  const response = await fetch(`${plain.url}/ui/`);
  expect([response.status, (await response.json()).type]).toEqual([404, expect.stringContaining('route_not_found')]);
  expect(plain.ui).toBeUndefined();
  await plain.end();
});

it('the console serves no key', async () => {
  const page = await (await fetch(`${vault.url}/ui/`)).text();
  const assets = [...page.matchAll(/\/ui\/[\w.-]+/g)].map(([name]) => name);
  expect(assets).toHaveLength(4);
  for (const asset of ['/ui/', ...assets]) {
    const text = await (await fetch(`${vault.url}${asset}`)).text();
    expect([vault.private_key, vault.management_key].some((key) => text.includes(key))).toBe(false);
  }
  expect(page).not.toContain('key_');
});
