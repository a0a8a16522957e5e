import type { Page } from 'playwright-core';
import { beforeEach, describe, expect, it } from 'vitest';
import { fill, findBarriers, findFaults, rule, startBoth } from './fixture.ts';

// The console says what its key sees, and why something does not work. Each check has a control.

const ID = 'item-0000';
const NUMBER = '4000000000000002';

let page: Page;

const { vault, open } = await startBoth();
await fill(vault, 40);
beforeEach(async () => {
  ({ page } = await open());
});

/** Creates an application, pastes its key, and chooses it for all calls. Resolves to the application. */
async function signInAs(name: string, body: object) {
  const application = await vault.management.createApplication({ body: { name, type: 'private', ...body } });
  await page.click('text=Add a key');
  await page.fill('[type=password]', application.key ?? '');
  await page.click('text=Use this key');
  await page.selectOption('.acting select', { label: `${name} (private)` });
  return application;
}

async function openToken(): Promise<string> {
  await page.click(`a.row:has-text("${ID}")`);
  await page.waitForSelector('.own');
  return page.locator('.own').innerText();
}

const reveals = () => page.locator('button:has-text("Reveal")').count();

describe('a token', () => {
  it('is not revealed by a key that sees only its mask, which says why', async () => {
    await signInAs('support-desk', { permissions: ['token:read'] });
    const { data } = await vault.management.listLogs({ query: { size: 1 } });
    expect(await openToken()).toMatch(/^Your key|The chosen key/);
    expect(await openToken()).toMatch(/support-desk \(private\) sees mask No rule governs; .* plain permission\./);
    expect(await reveals()).toBe(0);
    await page.keyboard.press('v');
    expect(await page.locator('progress, .plain').count()).toBe(0);
    expect(await page.locator('.pane').innerText()).not.toContain('audit records');
    const after = data[0]?.id ?? '';
    expect((await vault.management.listLogs({ query: { after } })).data).toEqual([]);
    expect(await findBarriers(page)).toEqual([]);
  });

  it('control: is revealed by a key that reveals it', async () => {
    expect(await openToken()).toMatch(/private \(private\) sees reveal Rule 1/);
    expect(await reveals()).toBe(1);
    await page.keyboard.press('v');
    await page.waitForSelector(`.plain:has-text("${NUMBER}")`);
  });

  it('control: is offered for a reveal if the vault says so', async () => {
    await page.route('**/applications/explain', async (route) => {
      const response = await route.fetch();
      const text = (await response.text()).replaceAll('"mask"', '"reveal"');
      await route.fulfill({ response, body: text });
    });
    await signInAs('misled', { permissions: ['token:read'] });
    await openToken();
    expect(await reveals()).toBe(1);
    await page.keyboard.press('v');
    await page.waitForSelector(`.plain:has-text("XXXXXXXXXXXX0002")`);
  });

  it('lists who else could reveal it only with application:read', async () => {
    await openToken();
    await page.waitForSelector('h3:has-text("Seen by")');
    await signInAs('desk', { rules: [rule(1, '/', 'mask')] });
    await page.waitForSelector('.own:has-text("desk (private) sees mask")');
    expect(await page.locator('h3:has-text("Seen by")').count()).toBe(0);
  });
});

describe('an action on a token', () => {
  const actions = () => page.locator('.actions button:has-text("Edit"), .actions button:has-text("Delete")').count();

  it('is offered only if a rule of the key grants it for this token', async () => {
    const permissions = ['token:read', 'token:update', 'token:delete'];
    await signInAs('high', { rules: [rule(1, '/pci/high/', 'mask', permissions), rule(2, '/', 'mask')] });
    await openToken();
    await expect.poll(actions).toBe(2);
    await page.goto(`${vault.url}/ui/tokens?token=item-0001`);
    await page.selectOption('.acting select', { label: 'high (private)' });
    await page.waitForSelector('.own:has-text("high (private) sees mask")');
    await expect.poll(actions).toBe(0);
  });
});

describe('a key', () => {
  it('that no longer works is named, with the remedy', async () => {
    const { id } = await signInAs('rotated', { permissions: ['token:read'] });
    await page.waitForSelector('a.row');
    expect(await page.locator('.notice').count()).toBe(0);
    await vault.management.regenerateApplicationKey({ params: { id } });
    await page.keyboard.press('r');
    await page.waitForSelector('.notice:has-text("The API key of rotated (private) no longer works")');
    await page.waitForSelector('.empty:has-text("The chosen key no longer works.")');
    expect(await page.locator('.wrong').count()).toBe(0);
    expect(await findFaults(page)).toEqual([]);
    const other = await signInAs('old', { permissions: ['token:read'] });
    await vault.management.deleteApplication({ params: { id: other.id } });
    await page.keyboard.press('r');
    await page.waitForSelector(
      '.notice:has-text("The API keys of rotated (private) and old (private) no longer work:")',
    );
    await page.click('.notice button:has-text("Forget them")');
    await page.waitForSelector('.notice', { state: 'detached' });
  });

  it('control: with a permission that is missing still works', async () => {
    await signInAs('writer', { permissions: ['token:create'] });
    await page.waitForSelector('.empty:has-text("The chosen key does not hold token:read.")');
    expect(await page.locator('.notice').count()).toBe(0);
    await page.click('.empty button:has-text("Use any key")');
    await page.waitForSelector('a.row');
  });
});

describe('a screen that no key may open', () => {
  it('is dimmed in the menu and asks for a key', async () => {
    await signInAs('reader', { permissions: ['token:read'] });
    await page.waitForSelector('nav a.unheld:has-text("Audit")');
    expect(await page.locator('nav a.unheld').allInnerTexts()).toHaveLength(4);
    for (const name of ['See as', 'Applications', 'Audit', 'Usage']) {
      await page.click(`nav a:has-text("${name}")`);
      await page.waitForSelector('.empty button:has-text("Add a key")');
      expect(await page.locator('.wrong').count()).toBe(0);
    }
    expect(await findFaults(page)).toEqual([]);
  });

  it('control: is like the others with a key', async () => {
    await page.waitForSelector('a.row');
    expect(await page.locator('nav a.unheld').count()).toBe(0);
  });
});

describe('a locked page', () => {
  it('says how to come back, which works', async () => {
    await page.keyboard.press('Control+l');
    await page.waitForSelector('main.locked:has-text("open the link again that vault serve --dev printed")');
    await page.goto('about:blank');
    await page.goto(vault.ui);
    await page.waitForSelector('a.row');
  });
});

describe('a vault that does not answer', () => {
  const isUsable = async () => (await page.locator('.content[inert]').count()) === 0;

  it('leaves its list, disables it, and is tried again', async () => {
    await page.waitForSelector('a.row');
    const rows = await page.locator('a.row').count();
    expect(await isUsable()).toBe(true);
    await page.route('**/ui/**', (route) => route.abort());
    await page.keyboard.press('r');
    await page.waitForSelector('main.outage .notice:has-text("Next try in")');
    expect(await page.locator('a.row').count()).toBe(rows);
    expect(await isUsable()).toBe(false);
    expect(await page.locator('.wrong').count()).toBe(0);
    expect(await findBarriers(page)).toEqual([]);
    await page.unroute('**/ui/**');
    await page.click('text=Try now');
    await page.waitForSelector('main:not(.outage) a.row');
    expect(await isUsable()).toBe(true);
  });

  it('control: a single failed reply is shown as such', async () => {
    await page.waitForSelector('a.row');
    await page.route('**/ui/api/v2/tokens*', (route) => route.fulfill({ status: 500, json: { detail: 'no' } }));
    await page.keyboard.press('r');
    await page.waitForSelector('.wrong');
    expect(await page.locator('main.outage').count()).toBe(0);
    expect(await isUsable()).toBe(true);
  });
});

describe('a command', () => {
  const line = async () => (await page.locator('.pane .command pre').first().textContent()) ?? '';

  it('names the vault and the variable of its key', async () => {
    await openToken();
    expect(await line()).toBe(`vault tokens get ${ID} --transform mask --url ${vault.url}`);
    await page.goto(`${vault.url}/ui/usage`);
    const usage = page.locator('.command pre').first();
    await usage.waitFor({ state: 'attached' });
    expect(await usage.textContent()).toBe(`VAULT_API_KEY="$VAULT_MANAGEMENT_KEY" vault usage --url ${vault.url}`);
  });

  it('on the file of a temporary vault says why there is none', async () => {
    await page.goto(`${vault.url}/ui/health`);
    await page.click('.card summary >> nth=1');
    await page.waitForSelector('.command:has-text("This vault is temporary")');
  });
});
