import { beforeEach, describe, expect, it } from 'vitest';
import type { Answer, CallParts } from '../test-vault.ts';
import { CARD, type Core, openCore, PRIVATE, rule } from './core-fixture.ts';

const BODY = { type: 'token', data: 'one', mask: '{{ data }}!', containers: ['/a/'], metadata: { k: 'v' } } as const;
const MISMATCH = 'urn:token-vault:problem:idempotency_mismatch';

let core: Core;
beforeEach(async () => {
  core = await openCore();
});

const keyed = (parts: CallParts = { body: BODY }, idempotencyKey = 'key-1') => ({ ...parts, idempotencyKey });
/** Calls twice with the same key, and expects the same bytes. */
async function twice(key: string, ...[operation, parts]: Parameters<Core['own']>): Promise<Answer> {
  const first = await core.call(key, operation, keyed(parts, operation));
  expect(first.status, first.text).toBeLessThan(300);
  const again = await core.call(key, operation, keyed(parts, operation));
  expect(again).toMatchObject({ status: first.status, text: first.text, replayed: true });
  return first;
}

async function expectMismatch(answer: Promise<Answer>, ids: readonly unknown[]): Promise<void> {
  const { status, at, text } = await answer;
  expect([status, at('type'), at('ids')]).toEqual([409, MISMATCH, ids]);
  expect(text).not.toContain('data');
}

/** Creates a private application with one rule; resolves to its id and its key. */
async function made(over: object) {
  const body = { name: 'x', type: 'private', rules: [rule({ permissions: PRIVATE, ...over })] };
  const answer = await core.manage('createApplication', { body });
  expect(answer.status, answer.text).toBe(201);
  const [id, key] = [String(answer.at('id')), String(answer.at('key'))];
  const govern = (next: object) =>
    core.manage('updateApplication', { id, body: { name: 'x', rules: [rule({ permissions: PRIVATE, ...next })] } });
  return { id, key, govern };
}

describe('a retry of a change on tokens', () => {
  it.each([
    { type: 'token', data: 'one' },
    { type: 'card', data: CARD },
    { type: 'token', data: { b: [1, 'two', null], a: { ü: '😀' } }, mask: { b: '{{ data.b[0] }}' } },
    {
      type: 'token',
      data: 'x',
      search_indexes: ['{{ data }}', 'y'],
      fingerprint_expression: '{{ data | append: "z" }}',
    },
    { type: 'token', data: 'x', metadata: { q: 'é', 'a b': '"\\' }, containers: ['/b/', '/a/c/'] },
    { type: 'token', data: 'x', expires_at: '2999-01-01T00:00:00+02:00' },
    { type: 'token', data: 'x', mask: null, id: '{{ data }}-own' },
    { type: 'token', data: '', mask: '{{ data }}' },
  ])('has the same bytes if nothing changed: %j', async (body) => {
    await twice(core.key, 'createToken', { body });
    const { id: _, ...other } = { id: undefined, ...body };
    await twice(core.key, 'tokenize', { body: { list: [other, { n: other }], first: other } });
    const id = await core.token(other);
    await twice(core.key, 'updateToken', { id, body: { metadata: { more: '1' } } });
    for (const transform of ['redact', 'mask']) {
      const { key } = await made({ transform });
      await twice(key, 'createToken', { body: other });
      await twice(key, 'updateToken', { id, body: { metadata: { more: transform } } });
    }
  });

  it('keeps the lexemes of numbers', async () => {
    const bodyText = '{"type":"token","data":{"n":1.0,"m":1e400},"mask":{"x":1.50}}';
    await twice(core.key, 'createToken', { bodyText });
    await twice(core.key, 'tokenize', { bodyText });
  });

  it('follows the rules of now', async () => {
    const { key, govern } = await made({});
    const id = String((await core.call(key, 'createToken', keyed())).at('id'));
    const patch = keyed({ id, body: { data: 'two' } }, 'patch');
    const show = async () => [
      (await core.call(key, 'createToken', keyed())).at('data'),
      (await core.call(key, 'updateToken', patch)).at('data'),
    ];
    await core.call(key, 'updateToken', patch);
    expect(await show()).toEqual(['two!', 'two']);
    await govern({ transform: 'mask' });
    expect(await show()).toEqual(['two!', 'two!']);
    await govern({ transform: 'redact' });
    expect(await show()).toEqual([undefined, undefined]);
    await govern({ container: '/b/' });
    await expectMismatch(core.call(key, 'createToken', keyed()), [id]);
    await expectMismatch(core.call(key, 'updateToken', patch), [id]);
    await govern({});
    expect(await show()).toEqual(['two!', 'two']);
  });

  it('is refused when the token has moved out of reach', async () => {
    const { key } = await made({ container: '/a/' });
    const id = String((await core.call(key, 'createToken', keyed())).at('id'));
    await core.own('updateToken', { id, body: { containers: ['/a/', '/b/'] } });
    await expectMismatch(core.call(key, 'createToken', keyed()), [id]);
  });

  it('never shows the changed token to a caller that cannot read it', async () => {
    const key = await core.application({ name: 'web', type: 'public', permissions: ['token:create'] });
    const first = await core.call(key, 'createToken', keyed());
    const id = String(first.at('id'));
    expect((await core.call(key, 'createToken', keyed())).text).toBe(first.text);
    await core.own('updateToken', { id, body: { metadata: { secret: 's' } } });
    await expectMismatch(core.call(key, 'createToken', keyed()), [id]);
  });

  it('shows the tokens that it found as the first reply did, until they change', async () => {
    const { key, govern } = await made({ container: '/own/' });
    const known = await core.token({ type: 'token', data: 'known', metadata: { hidden: 'h' } });
    const dedup = { type: 'token', data: 'known', containers: ['/own/'], deduplicate_token: true };
    const body = [{ ...BODY, containers: ['/own/'] }, dedup, { ...dedup, data: 'new' }, { ...dedup, data: 'new' }];
    const first = await twice(key, 'tokenize', { body });
    expect(first.text).not.toContain('hidden');
    expect([first.at('1.id'), first.at('3.id')]).toEqual([known, first.at('2.id')]);
    const again = () => core.call(key, 'tokenize', keyed({ body }, 'tokenize'));
    await core.own('updateToken', { id: known, body: { data: 'other' } });
    // The error names the tokens that the call made, not those that it found.
    await expectMismatch(again(), [first.at('0.id'), first.at('2.id')]);
    await govern({ container: '/' });
    expect((await again()).at('1.metadata')).toEqual({ hidden: 'h' });
  });

  it('stays short for a caller that cannot read the duplicate of its patch', async () => {
    const { key } = await made({ container: '/own/' });
    await core.token({ type: 'token', data: 'known' });
    const id = await core.token({ type: 'token', data: 'a', containers: ['/own/'], metadata: { k: 'v' } }, key);
    const answer = await twice(key, 'updateToken', { id, body: { data: 'known', deduplicate_token: true } });
    expect([answer.at('data'), answer.at('metadata')]).toEqual([undefined, undefined]);
  });

  it('has no data and no fingerprint for a caller that updates without reading', async () => {
    const form = await core.application({ name: 'f', type: 'public', permissions: ['token:create', 'token:update'] });
    const id = await core.token({ ...BODY, search_indexes: ['{{ data }}'] });
    const plain = await twice(form, 'updateToken', { id, body: { metadata: { a: 'b' } } });
    expect([plain.at('fingerprint'), plain.at('data'), plain.at('mask')]).toEqual([undefined, undefined, BODY.mask]);
    const parts = keyed({ id, body: { metadata: { a: 'b' }, deduplicate_token: true } }, 'dedup');
    const first = await core.call(form, 'updateToken', parts);
    expect([(await core.call(form, 'updateToken', parts)).text, first.at('mask')]).toEqual([first.text, undefined]);
  });
});

describe('a retry of a change on applications', () => {
  const permissions = ['token:create'];

  it('shows the API key only while the application has the same revision', async () => {
    const body = { name: 'b', type: 'private', permissions };
    const first = await twice(core.management, 'createApplication', { body });
    const id = String(first.at('id'));
    const create = () => core.manage('createApplication', keyed({ body }, 'createApplication'));
    const renewed = await twice(core.management, 'regenerateApplicationKey', { id });
    await expectMismatch(create(), [id]);
    await core.manage('updateApplication', { id, body: { name: 'c', permissions } });
    const answer = core.manage('regenerateApplicationKey', keyed({ id }, 'regenerateApplicationKey'));
    await expectMismatch(answer, [id]);
    expect((await answer).text).not.toContain(String(renewed.at('key')));
  });

  it('fails after its API key was deleted', async () => {
    const first = await twice(core.management, 'createApplication', {
      body: { name: 'b', type: 'private', permissions },
    });
    const id = String(first.at('id'));
    const second = await twice(core.management, 'createApplicationKey', { id });
    expect(second.at('key')).toMatch(/^key_/);
    const listed = await core.manage('listApplicationKeys', { id });
    expect(listed.at('2')).toBeUndefined();
    const create = () =>
      core.manage(
        'createApplication',
        keyed({ body: { name: 'b', type: 'private', permissions } }, 'createApplication'),
      );
    for (const [n, again, shown] of [
      [0, () => core.manage('createApplicationKey', keyed({ id }, 'createApplicationKey')), String(second.at('id'))],
      [1, create, id],
    ] as const) {
      expect((await again()).status).toBe(201);
      await core.manage('deleteApplicationKey', { params: { id, key_id: String(listed.at(`${n}.id`)) } });
      await expectMismatch(again(), [shown]);
    }
  });

  it('shows an application without an API key as it is now', async () => {
    const id = String((await made({})).id);
    const body = { name: 'd', permissions };
    await twice(core.management, 'updateApplication', { id, body });
    await core.manage('updateApplication', { id, body: { ...body, name: 'e' } });
    const parts = keyed({ id, body }, 'updateApplication');
    expect((await core.manage('updateApplication', parts)).at('name')).toBe('e');
    await core.manage('deleteApplication', { id });
    await expectMismatch(core.manage('updateApplication', parts), [id]);
  });
});
