import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { createText, EMPTY_DRAFT } from '../../src/console/page/tokens/token-draft.ts';
import { readTable } from '../vectors/read-vectors.ts';
import { fill, findBarriers, findFaults, heapOf, settle, startBoth } from './fixture.ts';

// Design of the console, §6.3 and checks 22 and 24.

const { vault, open: openScreen } = await startBoth();
await fill(vault, 20);

async function open(query: string): Promise<Page> {
  const { page } = await openScreen(`tokens?${query}`);
  // Evaluate by selector: a handle would keep the form in memory.
  await page.locator('.draft').waitFor();
  await settle(page);
  return page;
}

/** The form shows every tenth broken expression. */
const SHOWN = 10;

const errorsOf = (page: Page, name: string) => page.locator(`#field-${name}-errors span`).allInnerTexts();
const total = async () => (await vault.client.listTokens({ query: { size: 1 } })).pagination.total_items;

/** Fills the fields and waits for a preview. */
async function draft(page: Page, fields: Readonly<Record<string, string>>): Promise<void> {
  const reply = page.waitForResponse((response) => response.url().endsWith('/tokens/preview'));
  for (const [name, text] of Object.entries(fields)) await page.fill(`[name=${name}]`, text);
  await reply;
  await page.waitForSelector('.state');
}

describe('a new token', () => {
  it('is created by keyboard alone, as previewed', async () => {
    const { page } = await openScreen();
    await page.waitForSelector('a.row');
    const before = await total();
    await page.keyboard.press('n');
    await page.waitForSelector('#field-type:focus');
    await page.keyboard.type('social');
    await page.keyboard.press('Tab');
    await page.keyboard.type('123-45-6789');
    // The applications arrive after the preview.
    await page.waitForSelector('.preview :text("rule 1")');
    const preview = await page.locator('.preview').innerText();
    expect(preview).toContain('"XXX-XX-6789"');
    expect(preview).toMatch(/\{\{ data \| last4 \}\}\s+6789/);
    expect(preview).toContain('/pii/high/');
    expect(preview).toMatch(/private\s+reveal\s+rule 1/);
    expect(await total()).toBe(before);
    await page.keyboard.press('Control+Enter');
    await page.waitForSelector('.pane h2 code');
    const id = await page.locator('.pane h2').innerText();
    expect(await vault.client.getToken({ params: { id } })).toMatchObject({
      type: 'social_security_number',
      data: '123-45-6789',
      containers: ['/pii/high/'],
    });
    expect(await total()).toBe(before + 1);
  });

  it('asks for data only while there is none', async () => {
    const page = await open('draft=new');
    const note = () => page.textContent('.preview .note');
    await page.fill('[name=mask]', '{{');
    expect(await note()).toBe('Type data to see a preview.');
    await draft(page, { data: 'x' });
    await page.waitForSelector('.state.invalid');
    expect(await note()).toBe('Correct the errors to see a preview.');
  });

  it('of a card or a bank account has a field for each member beside the JSON', async () => {
    const page = await open('draft=new');
    expect(await page.locator('.data-fields').count()).toBe(0);
    await page.selectOption('#field-type', 'card');
    await page.fill('[name=number]', '4242424242424242');
    await page.fill('[name=expiration_month]', '12');
    expect(JSON.parse(await page.inputValue('[name=data]'))).toEqual({
      number: '4242424242424242',
      expiration_month: 12,
    });
    await page.fill('[name=data]', '{"number": "4000000000000002"}');
    expect(await page.inputValue('[name=number]')).toBe('4000000000000002');
    expect(await page.inputValue('[name=expiration_month]')).toBe('');
    await page.selectOption('#field-type', 'bank');
    expect(await page.locator('.data-fields label').allInnerTexts()).toEqual(['Routing number', 'Account number']);
    expect(await page.getAttribute('label:has-text("Routing number")', 'title')).toBe('routing_number');
    await page.fill('[name=data]', 'no JSON');
    expect(await page.locator('.data-fields').count()).toBe(0);
  });

  it('has the value of each field', async () => {
    const page = await open('draft=new');
    await draft(page, {
      data: '{"n": 9007199254740993, "name": "Ann"}',
      mask: '{"name": "{{ data.name | reveal_last: 1 }}"}',
      search_indexes: '{{ data.name }}\n{{ data.name | upcase }}',
      fingerprint_expression: '{{ data.name }}',
      id: 'given-id',
      containers: '/a/\n/b/',
      metadata: 'tier=gold\nnote=a=b',
      expires_at: '2035-12-31T00:00:00Z',
    });
    await page.selectOption('#field-deduplicate', 'false');
    await page.waitForSelector('.preview :text("as given")');
    await page.keyboard.press('Control+Enter');
    await page.waitForSelector('.pane h2:has-text("given-id")');
    expect(await vault.client.getToken({ params: { id: 'given-id' } })).toMatchObject({
      containers: ['/a/', '/b/'],
      metadata: { tier: 'gold', note: 'a=b' },
      expires_at: '2035-12-31T00:00:00.000+00:00',
    });
    const reply = await fetch(`${vault.url}/tokens/given-id`, { headers: { 'SVC-API-KEY': vault.private_key } });
    expect(await reply.text()).toContain('"n":9007199254740993');
    const { data } = await vault.client.searchTokens({ body: { query: 'data:"ANN"' } });
    expect(data.map(({ id }) => id)).toEqual(['given-id']);
  });

  it('shows each broken expression below its field, stores nothing and gets no fingerprint', async () => {
    const before = await total();
    const broken = readTable('expressions').flatMap(({ fields: [source = '', data = '', result = ''] }) => {
      const [, at, message] = /^error at (\d+): (.*)$/.exec(result) ?? [];
      if (message === undefined || data === 'null' || /^mask/.test(source) || /^[A-Z]/.test(data)) return [];
      const text: string = source.startsWith('"') ? JSON.parse(source) : source;
      // The position stands before a hint.
      return [{ text, data, error: message.replace(/(?=; did you mean|$)/, ` at character ${Number(at) + 1}`) }];
    });
    expect(broken.length).toBeGreaterThan(80);
    // The page shows what the vault replies.
    const headers = { 'SVC-API-KEY': vault.private_key, 'content-type': 'application/json' };
    for (const { text, data, error } of broken) {
      const body = createText({ ...EMPTY_DRAFT, data, mask: text });
      const refused = await fetch(`${vault.url}/tokens/preview`, { method: 'POST', headers, body });
      expect([text, (await refused.json()).errors]).toEqual([text, { mask: [error] }]);
    }
    const page = await open('draft=new');
    for (const { text, data, error } of broken.filter((_one, index) => index % SHOWN === 0)) {
      await draft(page, { data, mask: text });
      await expect.poll(() => errorsOf(page, 'mask'), { message: text, interval: 10 }).toEqual([error]);
      expect(await page.isDisabled('.draft button.main')).toBe(true);
    }
    const reply = page.waitForResponse((response) => response.url().endsWith('/tokens/preview') && response.ok());
    await draft(page, { data: 'some text', mask: '{{ data | last4 }}' });
    await page.waitForSelector('.state.valid');
    expect(await (await reply).json()).toMatchObject({ fingerprinted: '"some text"' });
    expect(await (await reply).json()).not.toHaveProperty('fingerprint');
    expect(await total()).toBe(before);
  });

  it('keeps the form when the vault rejects it', async () => {
    const page = await open('draft=new');
    await draft(page, { data: 'x', id: 'item-0000' });
    await page.keyboard.press('Control+Enter');
    await page.waitForSelector('.draft .wrong, #field-id-errors span');
    expect(await page.inputValue('[name=data]')).toBe('x');
  });

  it.each(['Cancel', 'Create', 'Lock'])('leaves no typed text after %s', async (end) => {
    const { page } = await openScreen();
    await page.goto(`${vault.url}/ui/tokens?draft=new`);
    const value = `plaintext before ${end}`;
    await page.click('[name=data]');
    await page.keyboard.type(value);
    await page.locator('.state.valid').waitFor();
    // The control: the text is in memory while it is typed.
    if (end === 'Lock') expect((await heapOf(page)).includes(value)).toBe(true);
    if (end === 'Lock') await page.keyboard.press('Control+l');
    else await page.click(`.draft button:has-text("${end}")`);
    await page.waitForSelector('.draft', { state: 'detached' });
    await settle(page);
    expect(page.url()).not.toContain('plaintext');
    expect(await page.evaluate(() => document.documentElement.outerHTML)).not.toContain(value);
    expect((await heapOf(page)).includes(value)).toBe(false);
  });

  it('suggests filters and names their arguments', async () => {
    const page = await open('draft=new');
    await page.click('[name=mask]');
    await page.keyboard.type('{{ data | rev');
    expect(await page.locator('[role=option]').allInnerTexts()).toEqual([
      "reveal_last: length, mask_char='X'",
      expect.stringContaining('reveal: first=0'),
      'reverse',
    ]);
    expect(await findBarriers(page)).toEqual([]);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    expect(await page.inputValue('[name=mask]')).toBe('{{ data | reveal_last');
    await page.keyboard.type(': 4');
    expect(await page.locator('.signature').innerText()).toBe("reveal_last: length, mask_char='X'");
    await page.keyboard.type(' }}');
    expect(await page.locator('.signature, [role=option]').count()).toBe(0);
    await page.keyboard.type(' {{ data | l');
    await page.waitForSelector('[role=option]');
    await page.keyboard.press('Escape');
    await page.waitForSelector('[role=option]', { state: 'detached' });
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('field-mask');
  });
});

describe('an error of a new token', async () => {
  const page = await open('draft=new');

  it.each([
    ['data', '{"number":"1"}', 'number: must be a card number'],
    ['search_indexes', '{{ data | nope }}', '0: unknown filter'],
    ['fingerprint_expression', '{{ data', 'character'],
    ['id', '{{ data | alias_x }}', 'unknown filter'],
    ['containers', 'x', '0: is malformed'],
    ['metadata', `${'x'.repeat(200)}=1`, 'has a member whose name is'],
    ['expires_at', 'soon', 'must'],
  ])('in %s is shown below its field', async (name, text, message) => {
    await page.goto(`${vault.url}/ui/tokens?draft=new`);
    await page.selectOption('#field-type', 'card');
    await draft(page, { data: '{"number":"4242424242424242"}', [name]: text });
    await expect.poll(() => errorsOf(page, name)).toEqual([expect.stringContaining(message)]);
    expect(await page.getAttribute(`[name=${name}]`, 'aria-invalid')).toBe('true');
  });
});

describe('a token', () => {
  it('is changed by the patch that the form shows', async () => {
    const { page } = await openScreen('tokens?token=item-0001');
    await page.waitForSelector('.pane .actions button');
    await page.keyboard.press('e');
    await page.waitForSelector('.draft');
    expect(await page.isDisabled('.draft button.main')).toBe(true);
    await page.fill('[name=data]', '{"cvc": null}');
    await page.fill('[name=metadata]', 'customer=1\ntier=gold');
    const patch = { data: { cvc: null }, metadata: { customer: '1', tier: 'gold', env: null } };
    expect(JSON.parse(await page.locator('.preview .json').innerText())).toEqual(patch);
    await page.keyboard.press('Control+Enter');
    await page.waitForSelector('.pane h2:has-text("item-0001")');
    const changed = await vault.client.getToken({ params: { id: 'item-0001' } });
    expect([changed.data, changed.metadata]).toEqual([{ number: expect.any(String) }, { customer: '1', tier: 'gold' }]);
  });

  it('shows the error of a rejected change below its field', async () => {
    const page = await open('token=item-0002&draft=change');
    await page.fill('[name=mask]', '{{ data | reveal_lst: 4 }}');
    await page.keyboard.press('Control+Enter');
    await expect
      .poll(() => errorsOf(page, 'mask'))
      .toEqual(['unknown filter at character 11; did you mean reveal_last?']);
  });

  it('is deleted after its id is typed', async () => {
    const { page } = await openScreen('tokens?token=item-0003');
    await page.click('.pane .actions >> text=Delete');
    await page.keyboard.type('item-0003');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.pane', { state: 'detached' });
    await expect(vault.client.getToken({ params: { id: 'item-0003' } })).rejects.toThrow('token_not_found');
  });
});

it('has no accessibility violation in its forms', async () => {
  const page = await open('draft=new');
  const look = async (form: string) => expect([form, ...(await findFaults(page))]).toEqual([form]);
  await draft(page, { data: 'x'.repeat(300) });
  await page.waitForSelector('.state.valid');
  await settle(page);
  await look('valid');
  await draft(page, { mask: '{{ data | reveal_lst: 4 }}' });
  await page.waitForSelector('.state.invalid');
  await look('invalid');
  await page.goto(`${vault.url}/ui/tokens?token=item-0000&draft=change`);
  await page.waitForSelector('.draft');
  await look('change');
});
