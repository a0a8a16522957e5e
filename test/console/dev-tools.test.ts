import path from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { bareEnvironment, vault as cli, openUi } from '../../scripts/run-vault.ts';
import { fill, findFaults, openConsole, overflow, rule, settle, startBoth, startDev, watch } from './fixture.ts';

// Design of the console, §6.7.

const HOUR = 3_600_000;
const SECRET = 'S3CRET';

const { browser, vault, open } = await startBoth();
/** An application that sees only /pci/. */
const payments = await vault.management.createApplication({
  body: { name: 'payments', type: 'private', rules: [rule(1, '/pci/', 'reveal')] },
});
await fill(vault, 20);
const { page, complaints } = await open();
await page.keyboard.press('g');
await page.keyboard.press('d');
await page.waitForSelector('h1:has-text("Dev tools")');
beforeEach(() => page.goto(`${vault.url}/ui/dev`));

const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true });
const ask = (path: string, key: string, init: RequestInit = {}) =>
  fetch(vault.url + path, { ...init, headers: { 'svc-api-key': key, 'content-type': 'application/json' } });

/** Returns the output of a command on the page's vault. */
async function command(...args: readonly string[]) {
  const env = { ...bareEnvironment(vault.folder), VAULT_URL: vault.url, VAULT_API_KEY: vault.management_key };
  return cli(args, env);
}

/** Returns the command that the screen shows. */
const shown = async () => {
  const line = await page.textContent('footer .command code');
  return line?.replace('VAULT_API_KEY="$VAULT_MANAGEMENT_KEY" ', '').replace(` --url ${vault.url}`, '');
};

describe('the clock', () => {
  it('moves, and every screen shows it', async () => {
    await button('+1 h').click();
    await page.waitForSelector('.clock-line:has-text("Clock 1 h ahead")');
    expect(await shown()).toBe('vault dev clock advance 1h');
    expect(await command('dev', 'clock', 'show')).toMatchObject({ offset_ms: HOUR });
    await button('+1 d').click();
    await page.waitForSelector('.controls:has-text("1 d 1 h ahead")');
    await page.goto(`${vault.url}/ui/tokens`);
    await page.waitForSelector('.clock-line:has-text("Clock 1 d 1 h ahead")');
    const size = page.viewportSize() ?? { width: 1280, height: 720 };
    await page.setViewportSize({ width: 375, height: 720 });
    expect(await page.$eval('nav', (bar) => bar.getBoundingClientRect().height)).toBeLessThanOrEqual(56);
    await page.setViewportSize(size);
    await page.goto(`${vault.url}/ui/dev`);
    await button('Back').click();
    await page.waitForFunction(() => document.querySelector('.clock-line')?.textContent === '');
    expect(await shown()).toBe('vault dev clock reset');
    expect(await command('dev', 'clock', 'show')).toMatchObject({ offset_ms: 0 });
  });

  it('moves to the next expiry and reports the number of removed records', async () => {
    expect(await button('Until next expiry').isDisabled()).toBe(true);
    const expires_at = new Date(Date.now() + 3 * HOUR).toISOString();
    for (const data of ['a', 'b']) await vault.client.createToken({ body: { type: 'token', data, expires_at } });
    await page.keyboard.press('r');
    await button('Until next expiry').click();
    await page.waitForSelector('.controls:has-text("removed 2")');
    await page.waitForSelector('.clock-line:has-text("ahead")');
    expect(await shown()).toBe(`vault dev clock set ${expires_at.replace('Z', '+00:00')}`);
    await button('Back').click();
    await page.waitForSelector('.controls:has-text("removed 0")');
  });

  it('moves to a typed time', async () => {
    await page.getByLabel('New time').fill('2030-01-31T12:00:00');
    await button('Set').click();
    await page.waitForFunction(() => document.querySelector('.now')?.textContent?.startsWith('2030-01-'));
    expect((await command('dev', 'clock', 'show')).now).toMatch(/^2030-01-/);
    await button('Back').click();
    await page.waitForFunction(() => document.querySelector('.clock-line')?.textContent === '');
  });

  it('shows after a reload a move by a command', async () => {
    await command('dev', 'clock', 'advance', '2h');
    await page.keyboard.press('r');
    await page.waitForSelector('.clock-line:has-text("2 h ahead")');
    await button('Back').click();
    await page.waitForFunction(() => document.querySelector('.clock-line')?.textContent === '');
  });
});

describe('faults', () => {
  it('are added, take effect and are cleared', async () => {
    await page.getByLabel('Times').fill('2');
    await page.getByLabel('Delay in ms').fill('5');
    await button('Add').click();
    await page.waitForSelector('.chips:has-text("POST /tokens → 429 after 5 ms ×2")');
    expect(await shown()).toBe("vault dev faults set 'POST /tokens' --status 429 --times 2 --delay 5ms");
    const [fault] = (await command('dev', 'faults', 'list')).data;
    expect(fault).toEqual({ request: 'POST /tokens', status: 429, times: 2, delay_ms: 5 });
    expect((await ask('/tokens', vault.private_key, { method: 'POST', body: '{}' })).status).toBe(429);
    await page.keyboard.press('r');
    await page.waitForSelector('.chips:has-text("×1")');
    await button('Clear').click();
    await page.waitForSelector('.chips[aria-label^=Faults]:has-text("none")');
    expect((await command('dev', 'faults', 'list')).data).toEqual([]);
  });

  it('that are invalid show an error', async () => {
    await page.getByLabel('Method and path').fill('BREW /tokens');
    await button('Add').click();
    await page.waitForSelector('.controls .wrong:has-text("request must be")');
  });
});

describe('snapshots', () => {
  const ids = async () => (await vault.client.listTokens({ query: { size: 100 } })).data.map(({ id }) => id);

  it('are saved, replaced, loaded and deleted', async () => {
    await page.getByLabel('Name of the snapshot').fill('base');
    await button('Save').click();
    await page.waitForSelector('.chips:has-text("base 20 tokens")');
    expect(await shown()).toBe('vault dev snapshot save base');
    expect((await command('dev', 'snapshot', 'list')).data).toMatchObject([{ name: 'base', tokens: 20 }]);
    await vault.client.createToken({ body: { id: 'late', type: 'token', data: 1 } });
    await button('Replace').click();
    await page.waitForSelector('.chips:has-text("base 21 tokens")');
    await vault.client.deleteToken({ params: { id: 'late' } });
    await button('Load').click();
    expect(await ids()).not.toContain('late');
    await button('Load base? Later changes are lost').click();
    await expect.poll(ids).toContain('late');
    await page.waitForFunction(() => document.querySelector('footer code')?.textContent?.includes('load base --yes'));
    await button('Delete').click();
    await button('Delete base?').click();
    await page.waitForSelector('.chips[aria-label^=Saved]:has-text("none")');
    expect((await command('dev', 'snapshot', 'list')).data).toEqual([]);
  });

  it('survive when the second press does not follow', async () => {
    await page.getByLabel('Name of the snapshot').fill('kept');
    await button('Save').click();
    await button('Delete').click();
    await page.keyboard.press('Tab');
    await button('Delete').waitFor();
    expect((await command('dev', 'snapshot', 'list')).data).toMatchObject([{ name: 'kept' }]);
  });

  it('and all tokens are removed by a reset of a temporary vault', async () => {
    const own = await startDev();
    await fill(own, 3);
    const { page: other } = await openConsole(browser, own, 'dev');
    await other.getByRole('button', { name: 'Reset' }).click();
    await other.getByRole('button', { name: 'Reset the vault?' }).click();
    await expect.poll(async () => (await own.client.listTokens()).data).toEqual([]);
    await other.waitForSelector('footer code:has-text("vault dev reset --yes")', { state: 'attached' });
    await own.end();
  });

  it('of a permanent vault cannot be reset, and the screen shows the error', async () => {
    const own = await startDev(['--file', path.join(vault.folder, 'kept.db')]);
    const { page: other } = await openConsole(browser, own, 'dev');
    await other.getByRole('button', { name: 'Reset' }).click();
    await other.getByRole('button', { name: 'Reset the vault?' }).click();
    await other.waitForSelector('.wrong:has-text("Only a temporary vault can be reset")');
    await own.end();
  });
});

describe('requests', () => {
  const rows = () =>
    page.$$eval('.list tbody tr', (all) => all.map((row) => [...row.children].map(({ textContent }) => textContent)));

  it('appear live without path, query values or body, like those of the command', async () => {
    await page.waitForSelector('.dev footer');
    await ask(`/tokens/${SECRET}`, vault.private_key);
    await ask(`/tokens?metadata.x=${SECRET}`, vault.private_key);
    await ask(`/${SECRET}`, vault.private_key);
    const body = JSON.stringify({ type: 'token', data: SECRET, mask: `{{ ${SECRET}`, metadata: { a: SECRET } });
    await ask('/tokens', vault.private_key, { method: 'POST', body });
    await page.waitForSelector('tbody tr:first-child:has-text("POST /tokens")');
    const [first, , third] = await rows();
    expect([first?.[1], first?.[3], first?.[4]]).toEqual([
      '400',
      'private',
      expect.stringMatching(/^invalid_request: mask/),
    ]);
    expect(third?.[0]).toBe('GET /tokens');
    const printed = (await command('dev', 'requests')).data as readonly Readonly<Record<string, unknown>>[];
    const all = await rows();
    expect(all.map(([request, status]) => [request, status])).toEqual(
      printed.map(({ method, route = '?', status }) => [`${method} ${route}`, String(status)]),
    );
    expect(await page.content()).not.toContain(SECRET);
    expect(JSON.stringify(printed)).not.toContain(SECRET);
  });

  it('control: an id that the daemon sends is shown', async () => {
    await page.route('**/ui/dev/requests*', (route) =>
      route.fulfill({
        json: { data: [{ id: 1e9, method: 'GET', route: `/${SECRET}`, status: 200, time: '2030-01-01' }] },
      }),
    );
    await page.reload();
    await page.waitForSelector(`tbody tr:has-text("${SECRET}")`);
    expect(await page.content()).toContain(SECRET);
    await page.unroute('**/ui/dev/requests*');
  });

  it('stop while Live is off', async () => {
    await page.waitForSelector('tbody tr');
    await button('Live').click();
    const before = (await rows()).length;
    await ask('/livez', vault.private_key);
    // More than the pause between two polls.
    await page.waitForTimeout(700);
    expect((await rows()).length).toBe(before);
    await button('Live').click();
    await page.waitForSelector('tbody tr:first-child:has-text("GET /livez")');
  });

  it('exclude those of the page', async () => {
    const newest = async () => (await command('dev', 'requests')).data[0]?.id;
    const before = await newest();
    // The dev tools wait for the next request.
    for (const screen of ['dev', 'tokens', 'see-as']) {
      await page.goto(`${vault.url}/ui/${screen}`);
      await page.waitForSelector('tbody tr');
    }
    await settle(page);
    expect(await newest()).toBe(before);
    await ask('/livez', vault.private_key);
    expect(await newest()).toBe(before + 1);
  });

  it('link to their audit entry, and denied ones to the reason', async () => {
    await ask('/tokens/item-0006', payments.key);
    await page.click('tbody tr:has-text("403") a.row');
    await page.waitForSelector('.pane:has-text("Denied: get a token")');
    expect(await page.textContent('.pane')).toContain('no_governing_rule');
    const link = new URL((await page.getAttribute('.pane section a', 'href')) ?? '', vault.url);
    const { data } = await vault.management.listLogs({ query: { entity_id: 'item-0006', denied: true } });
    expect(Object.fromEntries(link.searchParams)).toEqual({
      entity: 'item-0006',
      actor: payments.id,
      operation: 'getToken',
      entry: data[0]?.id.split('.', 2).join('.'),
    });
    await page.click('text=Why was it denied?');
    await page.waitForSelector('.pane h2:has-text("item-0006 as payments")');
    expect(new URL(page.url()).searchParams.get('app')).toBe(payments.id);
  });

  it('that succeeded have an entry and no reason', async () => {
    await ask('/tokens/item-0000', payments.key);
    await page.click('tbody tr:has-text("GET /tokens/{id}"):has-text("200") a.row');
    await page.waitForSelector('.pane:has-text("item-0000")');
    expect(await page.textContent('.pane')).not.toContain('Why');
    await page.keyboard.press('Escape');
    await page.waitForSelector('.pane', { state: 'detached' });
  });

  it('without an application explain why they have no entry', async () => {
    await ask('/tokens', 'key_wrong');
    await page.click('tbody tr:has-text("401") a.row');
    await page.waitForSelector('.pane:has-text("The request had no valid API key.")');
  });
});

describe('the screen', () => {
  it('and its pane have no accessibility violation and violate no policy', async () => {
    await page.waitForSelector('tbody tr');
    expect(await findFaults(page)).toEqual([]);
    await page.click('a.row');
    await page.waitForSelector('.pane');
    expect(await findFaults(page)).toEqual([]);
    expect(complaints.filter((each) => !each.includes('status of 4'))).toEqual([]);
  });

  it('has no horizontal scroll bar at 320 pixels, and nothing is cut off', async () => {
    await page.setViewportSize({ width: 320, height: 640 });
    await page.waitForSelector('tbody tr');
    const right = () =>
      page.$$eval('main *', (all) => Math.max(...all.map((each) => each.getBoundingClientRect().right)));
    expect(await overflow(page)).toBe(0);
    expect(await right()).toBeLessThanOrEqual(320);
    const gap = () =>
      page.evaluate(() => {
        const [above, below] = ['.controls section:last-child', '.requests'].map((each) =>
          document.querySelector(each)?.getBoundingClientRect(),
        );
        return (below?.top ?? 999) - (above?.bottom ?? 0);
      });
    expect(Math.abs(await gap())).toBeLessThanOrEqual(2);
    await page.evaluate(() => {
      const wide = Object.assign(document.createElement('pre'), { textContent: 'x'.repeat(99) });
      document.querySelector('.controls')?.append(wide);
    });
    expect(await page.evaluate(() => document.querySelector('.controls')?.scrollWidth ?? 0)).toBeGreaterThan(320);
    await page.setViewportSize({ width: 1280, height: 720 });
  });
});

it('vault ui --url has the dev tools of a --dev daemon, without its own requests in the list', async () => {
  const newest = async () => (await command('dev', 'requests')).data[0]?.id;
  const before = await newest();
  const env = { ...bareEnvironment(vault.folder), VAULT_API_KEY: vault.management_key };
  const { link, end } = await openUi(['--url', vault.url], env);
  onTestFinished(() => void end());
  const { page: other } = await watch(browser, link);
  await other.click('nav >> text=Dev tools');
  await other.waitForSelector('tbody tr');
  await other.getByRole('button', { name: '+1 h' }).click();
  await other.waitForSelector('.clock-line:has-text("ahead")');
  expect(await command('dev', 'clock', 'show')).toMatchObject({ offset_ms: HOUR });
  await other.getByRole('button', { name: 'Back' }).click();
  expect(await newest()).toBe(before);
  await other.waitForTimeout(700); // The list of requests waits for the next one.
  const started = performance.now();
  expect(await end()).toBe(0);
  expect(performance.now() - started).toBeLessThan(5_000);
});
