import { beforeEach, describe, expect, it } from 'vitest';
import { tamperFile } from '../checks/tamper-file.ts';
import { fuzzUnread } from '../checks/unread-fuzz.ts';
import { CARD, type Core, members, openCore, PRIVATE, wrongPaths } from './core-fixture.ts';
import { callVault, fileVault, newApplication, openedVault, RULE, withVault } from './vault-admin-fixture.ts';

let core: Core;
let form: string;

beforeEach(async () => {
  core = await openCore();
  form = await core.application({ name: 'form', type: 'public', permissions: ['token:create', 'token:update'] });
});

const update = (id: string, body: object) => core.call(form, 'updateToken', { id, body });

describe('an update by a caller that does not read the token (decisions §6)', () => {
  it('does not distinguish tokens with different data in 2,000 random patches', { timeout: 120_000 }, async () => {
    await fuzzUnread({ seed: 1, patches: 2_000 });
  });

  it('control: a caller that reads distinguishes them with the same random patches', async () => {
    const reading = [{ type: 'private', permissions: ['token:update', 'token:read'] }];
    await expect(fuzzUnread({ seed: 1, patches: 100, callers: reading })).rejects.toThrow('patch');
  });

  const SHOWN = ['containers', 'created_at', 'created_by', 'expires_at', 'fingerprint_expression', 'id', 'mask'];
  const CHANGED = ['modified_at', 'modified_by', 'search_indexes', 'tenant_id', 'type'];
  const made = { type: 'token', data: { a: 'x' }, metadata: { a: 'b' }, expires_at: '2026-03-02' };

  it.each([
    ['flag', { deduplicate_token: true }],
    ['tenant', {}],
  ])('omits the five members of §4.1 while deduplication is in force by the %s, duplicate or not', async (by, flag) => {
    if (by === 'tenant') {
      await core.manage('updateTenant', { body: { name: 't', settings: { deduplicate_tokens: 'true' } } });
    }
    const twin = { type: 'token', deduplicate_token: false };
    for (const data of ['twin', 'twin', 'single']) await core.token({ ...twin, data });
    const id = await core.token({ ...made, deduplicate_token: false });
    const redacted = ['fingerprint_expression', 'mask', 'search_indexes'];
    for (const data of ['twin', 'unique', 'single', { a: 'x' }]) {
      const answer = await update(id, { data, mask: 'm', search_indexes: ['x'], ...flag });
      expect(members(answer)).toEqual([...SHOWN, ...CHANGED].filter((name) => !redacted.includes(name)));
    }
    for (let n = 0; n < 101; n += 1) expect((await update(id, { data: 'twin', ...flag })).status).toBe(200);
    expect((await update(id, { ...flag, deduplicate_token: false })).at('mask')).toBe('m');
  });

  const FAILING = {
    mask: { a: '{{ data.a | plus: 1 }}' },
    search_indexes: ['{{ data.b }}', '{{ data.a }}', '{{ data.a | plus: 1 }}'],
    fingerprint_expression: '{{ data.b }}',
  };
  const definitionOf = (answer: Awaited<ReturnType<typeof update>>) => ({
    mask: answer.at('mask'),
    search_indexes: answer.at('search_indexes'),
    fingerprint_expression: answer.at('fingerprint_expression'),
  });

  it('keeps such an expression for later patches, also of a reader, unless the patch sets it', async () => {
    const id = await core.token({ type: 'token', data: { a: 'x' } });
    await update(id, FAILING);
    for (const body of [{}, { metadata: { k: 'v' } }, { data: { a: 'y' } }]) {
      const answer = await core.own('updateToken', { id, body });
      expect([answer.status, definitionOf(answer)]).toEqual([200, FAILING]);
    }
    const refused = [
      ['mask.a', { mask: FAILING.mask }],
      ['search_indexes.0', { search_indexes: FAILING.search_indexes }],
      ['fingerprint_expression', { fingerprint_expression: FAILING.fingerprint_expression }],
    ] as const;
    for (const [path, body] of refused) expect(wrongPaths(await core.own('updateToken', { id, body }))).toEqual([path]);
    // On data that the expressions accept, their results return.
    await core.own('updateToken', { id, body: { data: { a: 1, b: 'z' } } });
    const masking = await core.application({ name: 'm', type: 'private', permissions: ['token:read'] });
    expect((await core.call(masking, 'getToken', { id })).at('data')).toEqual({ a: 2 });
    expect(wrongPaths(await core.own('updateToken', { id, body: { data: { a: 'x' } } }))).toEqual(['mask.a']);
  });

  it('an expensive expression takes nothing from the budget of the stored ones', async () => {
    const id = await core.token({ type: 'token', data: 'x', mask: '{{ data | append: "y" }}' });
    const expensive = "{{ data | pad_left: 60000, 'a' | upcase | downcase | upcase | downcase | upcase | size }}";
    await update(id, { search_indexes: [expensive, expensive], fingerprint_expression: expensive });
    expect((await core.own('updateToken', { id, body: { data: 'z' } })).status).toBe(200);
    const masking = await core.application({ name: 'm', type: 'private', permissions: ['token:read'] });
    expect((await core.call(masking, 'getToken', { id })).at('data')).toBe('zy');
  });

  it('gives expressions that take much work no result, since their time would reveal data', async () => {
    const id = await core.token({ type: 'token', data: 'x' });
    const mask = "{{ data | pad_left: 60000, 'a' | upcase | size }}";
    expect((await update(id, { mask })).at('mask')).toBe(mask);
    const masking = await core.application({ name: 'm', type: 'private', permissions: ['token:read'] });
    expect((await core.call(masking, 'getToken', { id })).at('data')).toBeUndefined();
    expect((await core.own('updateToken', { id, body: { mask } })).at('mask')).toBe(mask);
    expect((await core.call(masking, 'getToken', { id })).at('data')).toBe(60_000);
  });

  it('validates data by the patch alone', async () => {
    const id = await core.token({ type: 'card', data: CARD });
    expect(wrongPaths(await update(id, { data: { cvc: '12' } }))).toEqual(['data.cvc']);
    expect(wrongPaths(await update(id, { data: { number: null } }))).toEqual(['data.number']);
    expect((await update(id, { data: { cvc: null } })).status).toBe(200);
    expect((await core.own('getToken', { id })).at('data')).toEqual({ ...CARD, cvc: undefined });
  });

  it('rejects mask, expressions and metadata above 1 MiB, as for every caller', async () => {
    const id = await core.token({ type: 'token', data: 1 });
    const grow = (key: string, name: string, length: number) =>
      core.call(key, 'updateToken', { id, body: { mask: { [name]: 'x'.repeat(length) } } });
    expect((await grow(form, 'a', 600_000)).status).toBe(200);
    for (const key of [form, core.key]) {
      expect(wrongPaths(await grow(key, 'b', 449_000))).toEqual(['mask']);
    }
    expect((await grow(form, 'b', 447_000)).status).toBe(200);
    const metadata = Object.fromEntries(Array.from({ length: 3 }, (_, index) => [`k${index}`, 'v'.repeat(1_000)]));
    for (const key of [form, core.key]) {
      expect(wrongPaths(await core.call(key, 'updateToken', { id, body: { metadata } }))).toEqual(['metadata']);
    }
  });

  it('may set expressions a hundred times a minute', async () => {
    const id = await core.token({ type: 'token', data: 1 });
    const statuses = async (body: object, times: number) => {
      const answers = [];
      for (let left = times; left > 0; left--) answers.push((await update(id, body)).status);
      return new Set(answers);
    };
    expect(await statuses({ mask: '{{ data }}' }, 100)).toEqual(new Set([200]));
    for (const body of [{ mask: '{{ data }}' }, { search_indexes: ['x'] }, { fingerprint_expression: 'x' }]) {
      expect(await statuses(body, 1)).toEqual(new Set([429]));
    }
    expect(await statuses({ data: 2, mask: null, metadata: { a: 'b' } }, 1)).toEqual(new Set([200]));
    const other = await core.application({ name: 'other', type: 'private', permissions: PRIVATE });
    expect((await core.call(other, 'updateToken', { id, body: { mask: 'x' } })).status).toBe(200);
    core.clock.advance(60_000);
    expect(await statuses({ mask: '{{ data }}' }, 1)).toEqual(new Set([200]));
  });
});

it('refuses a caller without access before it opens the data, whose size would show in the time', async () => {
  const { file, apiKey, management } = await fileVault(1);
  const rules = [{ ...RULE, container: '/mine/' }];
  const { key } = await withVault(file, (vault) => newApplication(vault, management, { rules }));
  await tamperFile(file, (connection) => void connection.exec('UPDATE token SET full = zeroblob(length(full))'));
  const vault = await openedVault(file);
  const statusOf = async (caller: string) =>
    (await callVault(vault, caller, 'updateToken', { id: 'token-0', body: { metadata: {} } })).status;
  expect([await statusOf(key), await statusOf(apiKey)]).toEqual([403, 500]);
});
