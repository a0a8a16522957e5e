import { beforeEach, describe, expect, it } from 'vitest';
import { TOKEN_TYPES, type TokenTypeRow } from '../../src/contract/token-types.ts';
import { readTable } from '../vectors/read-vectors.ts';
import { CARD, type Core, members, openCore, rule, wrongPaths } from './core-fixture.ts';

let core: Core;

beforeEach(async () => {
  core = await openCore();
});

const create = (body: object) => core.own('createToken', { body });

/** The first value of each type that the vectors accept. */
const GOOD: Readonly<Record<string, unknown>> = Object.fromEntries(
  readTable('validation')
    .filter(({ fields: [, outcome] }) => outcome === 'valid')
    .reverse()
    .map(({ part, fields: [data = ''] }) => [part, JSON.parse(data)]),
);

describe('a new token', () => {
  it('has a version 7 UUID when no id is given', async () => {
    const answer = await create({ type: 'token', data: 1 });
    expect(answer.at('id')).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('belongs to the tenant of the key and names its creator', async () => {
    const answer = await create({ type: 'token', data: 1 });
    const list = await core.manage('listApplications');
    const creator = (list.at('data') as { id: string; name: string }[]).find(({ name }) => name === 'all');
    expect(answer.at('tenant_id')).toBe(core.tenantId);
    expect(answer.at('created_by')).toBe(creator?.id);
    expect(answer.at('created_at')).toBe('2026-03-01T09:30:00.000+00:00');
  });

  it('has every member of §2.1 in replies of create and update, and those for reading in get and list', async () => {
    const body = { type: 'card', data: CARD, metadata: { a: 'b' }, search_indexes: ['{{ data.number }}'] };
    const made = await create({ ...body, expires_at: '2027-01-01' });
    const always = ['id', 'type', 'tenant_id', 'data', 'containers', 'metadata', 'created_by', 'created_at'];
    const read = [...always, 'fingerprint', 'expires_at'];
    const written = [...read, 'fingerprint_expression', 'search_indexes', 'mask'];
    expect(members(made)).toEqual([...written].sort());
    const id = String(made.at('id'));
    expect(members(await core.own('getToken', { id }))).toEqual([...read].sort());
    const list = await core.own('listTokens');
    expect(Object.keys(list.at('data.0') as object).sort()).toEqual([...read].sort());
    const updated = await core.own('updateToken', { id, body: {} });
    expect(members(updated)).toEqual([...written, 'modified_at', 'modified_by'].sort());
  });

  it('omits unset members and never shows null', async () => {
    const made = await create({ type: 'token', data: { a: 1 } });
    expect(members(made)).toEqual(
      [
        'id',
        'type',
        'tenant_id',
        'fingerprint',
        'fingerprint_expression',
        'containers',
        'created_by',
        'created_at',
      ].sort(),
    );
    expect(made.text).not.toContain('null');
  });

  it.each(Object.entries<TokenTypeRow>(TOKEN_TYPES))('type %s: has the defaults of the table', async (type, row) => {
    const made = await create({ type, data: GOOD[type] });
    expect(made.status, made.text).toBe(201);
    expect(made.at('containers')).toEqual([row.container]);
    expect(made.at('mask')).toEqual(row.mask);
    expect(made.at('search_indexes')).toEqual(row.search_indexes);
    expect(made.at('fingerprint_expression')).toBe('{{ data | stringify }}');
  });

  it.each(Object.entries(GOOD).filter(([type]) => type !== 'token'))('type %s: rejects other data', async (type) => {
    for (const data of ['nonsense', 1, {}, [], true]) {
      expect(wrongPaths(await create({ type, data }))[0]).toMatch(/^data/);
    }
  });

  it('an explicit value replaces a default', async () => {
    const body = { type: 'card', data: CARD, mask: 'hidden', containers: ['/x/'], search_indexes: ['{{ data.cvc }}'] };
    const made = await create({ ...body, fingerprint_expression: '{{ data.number }}' });
    expect(made.at('data')).toBe('hidden');
    expect(made.at('containers')).toEqual(['/x/']);
    expect(made.at('search_indexes')).toEqual(['{{ data.cvc }}']);
    expect(made.at('fingerprint_expression')).toBe('{{ data.number }}');
  });

  it('the mask omits members that the data lacks', async () => {
    const made = await create({ type: 'card', data: { number: CARD.number } });
    expect(made.at('data')).toEqual({ number: 'XXXXXXXXXXXX4242' });
  });

  it('create returns the masked form even when the rule reveals', async () => {
    expect((await create({ type: 'card', data: CARD })).text).not.toContain(CARD.number);
    expect((await create({ type: 'token', data: 'secret' })).at('data')).toBeUndefined();
  });
});

describe('ids, containers, metadata (decisions §5)', () => {
  it('containers are stored in lower case without duplicates', async () => {
    const made = await create({ type: 'token', data: 1, containers: ['/PCI/High/', '/a_b-C/1/', '/pci/high/', '/'] });
    expect(made.at('containers')).toEqual(['/pci/high/', '/a_b-c/1/', '/']);
  });

  it.each([
    ['no containers', []],
    ['21 containers', Array.from({ length: 21 }, (_, index) => `/c${index}/`)],
    ['a container of 256 characters', [`/${'x'.repeat(254)}/`]],
    ['a space', ['/a b/']],
    ['no slash in front', ['a/']],
  ])('%s: refused', async (_what, containers) => {
    expect(wrongPaths(await create({ type: 'token', data: 1, containers }))[0]).toMatch(/^containers/);
  });

  it('20 containers, one of 255 characters, are accepted', async () => {
    const containers = [`/${'x'.repeat(253)}/`, ...Array.from({ length: 19 }, (_, index) => `/c${index}/`)];
    expect((await create({ type: 'token', data: 1, containers })).status).toBe(201);
  });

  it.each([
    ['51 members', Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`k${index}`, '']))],
    ['an empty key', { '': 'x' }],
    ['a key of 129 characters', { ['k'.repeat(129)]: 'x' }],
    ['a value of 1025 characters', { k: 'x'.repeat(1025) }],
    ['a number', { k: 1 }],
  ])('metadata with %s: refused', async (_what, metadata) => {
    expect(wrongPaths(await create({ type: 'token', data: 1, metadata }))[0]).toMatch(/^metadata/);
  });

  it('metadata at its limits is accepted', async () => {
    const many = Object.fromEntries(Array.from({ length: 49 }, (_, index) => [`k${index}`, '']));
    const metadata = { ...many, ['k'.repeat(128)]: 'x'.repeat(1024) };
    expect((await create({ type: 'token', data: 1, metadata })).at('metadata')).toEqual(metadata);
  });

  it('the rules for ids apply to the value of an expression', async () => {
    expect(wrongPaths(await create({ type: 'token', data: 'a/b', id: '{{ data }}' }))).toEqual(['id']);
    expect(wrongPaths(await create({ type: 'token', data: 'x', id: '{{ data }}' }))).toEqual(['id']);
  });

  it('each tenant may use an id once', async () => {
    const body = { type: 'token', data: 1, id: 'shared' };
    const { application } = await core.vault.createTenant('other');
    const other = { name: 'o', type: 'private', permissions: ['token:create'] };
    const key = String((await core.call(application.key, 'createApplication', { body: other })).at('key'));
    expect((await create(body)).status).toBe(201);
    expect((await core.call(key, 'createToken', { body })).status).toBe(201);
    expect((await create(body)).status).toBe(409);
  });
});

describe('expiration (§2.6, decisions §8)', () => {
  it('by default a token never expires', async () => {
    const id = await core.token({ type: 'token', data: 1 });
    core.clock.advance(100 * 365 * 86_400_000);
    const answer = await core.own('getToken', { id });
    expect([answer.status, answer.at('expires_at')]).toEqual([200, undefined]);
  });

  it.each([
    ['3/2/2026 1:05:09 PM -05:00', '2026-03-02T13:05:09.000-05:00'],
    ['3/2/2026 12:00:00 AM', '2026-03-02T00:00:00.000+00:00'],
    ['03/02/2026', '2026-03-02T00:00:00.000+00:00'],
    ['2026-03-02', '2026-03-02T00:00:00.000+00:00'],
    ['2026-03-02T10:00:00.5+01:00', '2026-03-02T10:00:00.500+01:00'],
    ['2026-03-02T10:00:00', '2026-03-02T10:00:00.000+00:00'],
  ])('%s is shown as %s', async (expires_at, shown) => {
    expect((await create({ type: 'token', data: 1, expires_at })).at('expires_at')).toBe(shown);
  });

  it.each(['2/30/2027', '13/1/2027', '3/1/2026', '2026-03-01T09:30:00Z', 'soon', '1772443800'])(
    '%s is refused',
    async (expires_at) => {
      expect(wrongPaths(await create({ type: 'token', data: 1, expires_at }))).toEqual(['expires_at']);
    },
  );

  it('an expired token is gone for update and delete, too', async () => {
    const id = await core.token({ type: 'token', data: 1, expires_at: '2026-03-02' });
    core.clock.advance(86_400_000);
    expect((await core.own('updateToken', { id, body: {} })).status).toBe(404);
    expect((await core.own('deleteToken', { id })).status).toBe(404);
    expect((await core.own('listTokens', { query: `id=${id}` })).at('data')).toEqual([]);
  });
});

describe('an application that only creates', () => {
  it('can neither get nor list', async () => {
    const key = await core.application({ name: 'p', type: 'public', rules: [rule({ permissions: ['token:create'] })] });
    const id = await core.token({ type: 'token', data: 1 }, key);
    expect((await core.call(key, 'getToken', { id })).status).toBe(403);
    expect((await core.call(key, 'listTokens')).status).toBe(403);
  });
});
