import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Application, createClient } from '../../src/client/create-client.ts';
import { PERMISSIONS } from '../../src/contract/permissions.ts';
import { fill, findBarriers, findFaults, heapOf, holdings, rule, settle, startBoth } from './fixture.ts';

// Design of the console, §6.4 and checks 20 and 24.

let payments: Application;
let receipts: Application;

const { vault, open: openScreen } = await startBoth();
beforeAll(async () => {
  await fill(vault, 120);
  payments = await create('payments', [rule(1, '/pci/test/', 'redact'), rule(4, '/pci/', 'reveal')], {
    can_create_expiring_applications: true,
  });
  receipts = await createClient({ url: vault.url, apiKey: payments.key ?? '' }).createApplication({
    body: {
      name: 'receipts',
      type: 'expiring',
      expires_at: new Date(Date.now() + 3_600_000).toISOString(),
      rules: [
        {
          description: 'one place',
          priority: 1,
          conditions: [{ attribute: 'container', operator: 'equals', value: '/pci/high/' }],
          transform: 'mask',
          permissions: ['token:read'],
        },
      ],
    },
  });
});

const create = (name: string, rules: never[], more = {}) =>
  vault.management.createApplication({ body: { name, type: 'private', rules, ...more } });

const named = async (name: string) =>
  (await vault.management.listApplications({ query: { size: 100 } })).data.find((each) => each.name === name);

async function open(query: string): Promise<Page> {
  const { page } = await openScreen(`applications?${query}`);
  await page.waitForSelector('main h1');
  await settle(page);
  return page;
}

const reads = (apiKey: string) =>
  createClient({ url: vault.url, apiKey })
    .listTokens({ query: { size: 1 } })
    .then(
      ({ pagination }) => pagination.total_items,
      ({ code }) => code,
    );

describe('an application', () => {
  it('shows its rules in the order of priority with their reach', async () => {
    const page = await open(`app=${payments.id}`);
    await page.waitForSelector('.reached:has-text("tokens")');
    expect(await page.locator('.rules li').allInnerTexts()).toEqual([
      expect.stringMatching(/24 tokens[\s\S]*Rule 1 \/pci\/test\/ redact/),
      expect.stringMatching(/48 tokens[\s\S]*Rule 4 \/pci\/ reveal/),
    ]);
    await page.click('.pane a:has-text("See as")');
    await page.waitForURL(`**/see-as?app=${payments.id}`);
  });

  it('is created by keyboard alone, as previewed', async () => {
    const page = await open('');
    await page.keyboard.press('n');
    await page.waitForSelector('.draft');
    await page.keyboard.type('fraud');
    await page.focus('text=+ rule');
    await page.keyboard.press('Enter');
    await page.waitForSelector('[name=rule-1-container]:focus');
    await page.keyboard.type('/pci/');
    await page.waitForSelector('.preview tbody tr:has-text("rule 1"):has-text("72")');
    expect(await page.locator('.preview h3').innerText()).toBe('Tokens that change: 72 of the newest 120');
    expect(await page.locator('.preview section tbody tr').count()).toBe(10);
    await page.keyboard.press('Control+Enter');
    const key = await page.waitForSelector('.new-key').then((place) => place.innerText());
    expect(await reads(key)).toBe(72);
    expect(await named('fraud')).toMatchObject({
      type: 'private',
      permissions: [],
      rules: [{ priority: 1, container: '/pci/', transform: 'mask', permissions: ['token:read'] }],
    });
  });

  it.each([
    ['public', 'token:create'],
    ['management', 'application:read'],
    ['expiring', 'token:read'],
  ])('of the type %s is offered only permissions of that type', async (type, permission) => {
    const page = await open('draft=new');
    await page.selectOption('#field-type', type);
    await page.fill('[name=name]', `a ${type} one`);
    const offered = await page.locator('.plain-choice code').allInnerTexts();
    expect(offered).toEqual(
      Object.entries(PERMISSIONS).flatMap(([name, { types }]) => (types.some((each) => each === type) ? [name] : [])),
    );
    await page.click(`.plain-choice >> text="${permission}"`);
    await page.keyboard.press('Control+Enter');
    await page.waitForSelector('.new-key');
    expect(await named(`a ${type} one`)).toMatchObject({ type, permissions: [permission] });
  });

  it('can be edited: Alt moves rules, and the preview shows the changes', async () => {
    const { id } = await create('moving', [rule(3, '/pci/test/', 'redact'), rule(7, '/pci/', 'reveal')]);
    const page = await open(`app=${id}`);
    await page.keyboard.press('e');
    await page.waitForSelector('.preview h3:has-text("0 of the newest 120")');
    await page.focus('[name=rule-7-container]');
    await page.keyboard.press('Alt+ArrowUp');
    await page.waitForSelector('.warning:has-text("Never governs: rule 3 comes first.")');
    await page.waitForSelector('.preview h3:has-text("24 of the newest 120")');
    expect(await page.locator('.preview section tbody td').first().innerText()).toMatch(/redact\s+→\s+reveal/);
    expect(await page.evaluate(() => (document.activeElement as HTMLInputElement).value)).toBe('/pci/');
    await page.keyboard.press('Control+Enter');
    await page.waitForSelector('.pane h2:has-text("moving")');
    const { rules } = await vault.management.getApplication({ params: { id } });
    expect(rules.map(({ priority, container }) => [priority, container])).toEqual([
      [3, '/pci/'],
      [7, '/pci/test/'],
    ]);
  });

  it('shows the error of a rejected rule below it', async () => {
    const page = await open('draft=new');
    await page.fill('[name=name]', 'refused');
    await page.click('text=+ rule');
    await page.fill('[name=rule-1-container]', 'pci');
    await page.waitForSelector('fieldset.rule .field-errors:has-text("container: is malformed")');
    await page.keyboard.press('Control+Enter');
    await settle(page);
    expect(await page.locator('.field-errors:has-text("container: is malformed")').count()).toBe(1);
    expect(await named('refused')).toBeUndefined();
  });

  it('is deleted after its name is typed, with a list of those that end with it', async () => {
    const page = await open(`app=${payments.id}`);
    await page.click('.pane button:has-text("Delete")');
    expect(await page.locator('dialog[open]').innerText()).toContain('receipts, ends');
    await page.keyboard.type('payment');
    expect(await page.isDisabled('dialog[open] button[type=submit]')).toBe(true);
    await page.keyboard.press('Enter');
    await settle(page);
    expect(await named('payments')).toBeDefined();
    await page.keyboard.type('s');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.pane', { state: 'detached' });
    expect(await named('payments')).toBeUndefined();
    expect(await reads(receipts.key ?? '')).toBe('unauthenticated');
  });
});

describe('a new key', () => {
  it.each(['I have saved it', 'a reload', 'Lock'])('opens the API, and is gone after %s', async (end) => {
    const { id, key: old = '' } = await create(`owner: ${end}`, [rule(1, '/pci/', 'mask')]);
    const page = await open(`app=${id}`);
    await page.click('text=Regenerate key');
    await page.keyboard.type(`owner: ${end}`);
    await page.keyboard.press('Enter');
    const key = await page.waitForSelector('.new-key').then((place) => place.innerText());
    expect(await Promise.all([old, key].map(reads))).toEqual(['unauthenticated', 72]);
    await page.keyboard.press('Escape');
    await settle(page);
    expect((await holdings(page)).includes(key)).toBe(true);
    // The control: the key is in memory while it is shown.
    if (end === 'Lock') expect((await heapOf(page)).includes(key)).toBe(true);
    if (end === 'a reload') await page.reload();
    else if (end === 'Lock') await page.keyboard.press('Control+l');
    else await page.click('dialog[open] button.main');
    await page.waitForSelector('.new-key', { state: 'detached' });
    expect((await holdings(page)).includes('key_')).toBe(false);
    expect((await heapOf(page)).includes(key)).toBe(false);
  });
});

it('lists the API keys of an application, adds one that works beside the others, and deletes one', async () => {
  const { id, key: first = '' } = await create('rotating', [rule(1, '/pci/', 'mask')]);
  const page = await open(`app=${id}`);
  await page.waitForSelector('.api-keys li:has-text("Key 1")');
  await page.click('text=Add key');
  const second = await page.waitForSelector('.new-key').then((place) => place.innerText());
  expect(await page.locator('dialog[open] .command code').first().textContent()).toContain(
    `vault apps keys create ${id} --key-out FILE --url ${vault.url}`,
  );
  await page.click('dialog[open] button.main');
  await page.waitForSelector('.api-keys li:has-text("Key 2")');
  const ends = await page.$$eval('.api-keys button', (all) => all.map((each) => each.getBoundingClientRect().right));
  expect(new Set(ends).size).toBe(1);
  expect(await findBarriers(page)).toEqual([]);
  expect(await Promise.all([first, second].map(reads))).toEqual([72, 72]);
  await page.click('[aria-label="Delete key 1"]');
  await page.keyboard.type('rotating');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.api-keys li:has-text("Key 1")', { state: 'detached' });
  expect(await Promise.all([first, second].map(reads))).toEqual(['unauthenticated', 72]);
  expect((await holdings(page)).includes('key_')).toBe(false);
});

it('has no accessibility violation on the screen and in its panes', async () => {
  const long = 'place'.repeat(40);
  const { id } = await create(`long ${long}`.slice(0, 160), [rule(1, '/', 'reveal'), rule(2, `/${long}/`, 'mask')]);
  const page = await open('');
  for (const state of [`app=${id}`, `app=${id}&draft=edit`, 'draft=new']) {
    await page.goto(`${vault.url}/ui/applications?${state}`);
    await page.waitForSelector('main h1', { state: 'attached' });
    await settle(page);
    expect([state, ...(await findFaults(page))]).toEqual([state]);
  }
  const other = await create('odd', [rule(1, '/pci/', 'mask')]);
  await page.goto(`${vault.url}/ui/applications?app=${other.id}`);
  await page.click('.pane button:has-text("Delete")');
  expect(await findFaults(page)).toEqual([]);
  await page.click('dialog[open] >> text=Cancel');
  await page.click('.pane button:has-text("Regenerate")');
  await page.keyboard.type('odd');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.new-key');
  expect(await findFaults(page)).toEqual([]);
});
