import { beforeEach, describe, expect, it } from 'vitest';
import { type Core, DAY, openCore, PRIVATE, rule, wrongPaths } from './core-fixture.ts';

let core: Core;
let id: string;
let first: string;

const BODY = { name: 'backend', type: 'private', permissions: PRIVATE, can_create_expiring_applications: true };

beforeEach(async () => {
  core = await openCore();
  const made = await core.manage('createApplication', { body: BODY });
  id = String(made.at('id'));
  first = String(made.at('key'));
});

const create = (body?: object, of = id) => core.manage('createApplicationKey', { id: of, ...(body && { body }) });
const get = (key_id: string, of = id) => core.manage('getApplicationKey', { params: { id: of, key_id } });
const remove = (key_id: string, of = id) => core.manage('deleteApplicationKey', { params: { id: of, key_id } });
const listed = async () => JSON.parse((await core.manage('listApplicationKeys', { id })).text) as Listed[];
const works = async (key: string) => (await core.call(key, 'listTokens')).status;
const inAnHour = () => new Date(core.clock.now() + 3_600_000).toISOString();

interface Listed {
  readonly id: string;
  readonly version: string;
  readonly last_used_on?: string;
}

describe('Create a Key (search-and-batches.md §9)', () => {
  it('makes keys that are the application alike', async () => {
    const second = String((await create()).at('key'));
    const permissions = ['application:read'];
    const made = await core.manage('createApplication', { body: { name: 'm', type: 'management', permissions } });
    const own = String(made.at('id'));
    const other = String((await create(undefined, own)).at('key'));
    const [one, two] = [
      await core.call(String(made.at('key')), 'getApplicationByKey'),
      await core.call(other, 'getApplicationByKey'),
    ];
    expect(one.text).toBe(two.text);
    expect(one.at('id')).toBe(own);
    expect([await works(first), await works(second)]).toEqual([200, 200]);
  });

  it.each([
    ['no body', {}],
    ['an empty body of any content type', { bodyText: '', mediaType: 'application/x-www-form-urlencoded' }],
    ['an empty object without a content type', { bodyText: '{}', mediaType: undefined }],
    ['null', { bodyText: 'null' }],
    ['an object without members', { body: {} }],
    ['a member that is null', { body: { expires_at: null } }],
  ])('accepts %s', async (_what, parts) => {
    const made = await core.manage('createApplicationKey', { id, ...parts });
    expect([made.status, made.at('expires_at')]).toEqual([201, undefined]);
  });

  it('ends a key at its time, and the expiring applications that it created', async () => {
    const expires_at = inAnHour();
    const made = await create({ expires_at });
    const key = String(made.at('key'));
    expect(made.at('expires_at')).toBe(expires_at.replace('Z', '+00:00'));
    const later = new Date(core.clock.now() + 7_200_000).toISOString();
    const child = { name: 'child', type: 'expiring', permissions: ['token:read'] };
    const minted = await core.call(key, 'createApplication', { body: { ...child, expires_at: later } });
    expect(minted.at('expires_at')).toBe(made.at('expires_at'));
    const childKey = String(minted.at('key'));
    core.clock.advance(3_599_999);
    expect([await works(key), await works(childKey), (await listed()).length]).toEqual([200, 200, 2]);
    core.clock.advance(1);
    expect([await works(key), await works(childKey), await works(first)]).toEqual([401, 401, 200]);
    expect((await get(String(made.at('id')))).at('type')).toContain('key_not_found');
    expect((await listed()).map(({ version }) => version)).toEqual(['1']);
    expect(await core.vault.sweep()).toBe(2);
    expect((await core.manage('getApplication', { id })).at('expiring_applications')).toBe(0);
    expect((await create()).at('version')).toBe('3');
  });
});

describe('an expiring application', () => {
  const child = { name: 'child', type: 'expiring', permissions: ['token:read'] };

  it('has its one key', async () => {
    const made = await core.manage('createApplication', { body: child });
    expect(wrongPaths(await create(undefined, String(made.at('id'))))).toEqual(['id']);
    const refused = await core.manage('createApplication', { body: { ...child, create_key: false } });
    expect(wrongPaths(refused)).toEqual(['create_key']);
  });
});

describe('the last use of a key', () => {
  it('is the UTC day of its last call, also of one that is denied', async () => {
    const used = async () => (await listed()).find(({ version }) => version === '1')?.last_used_on;
    expect(await used()).toBeUndefined();
    await core.call(first, 'getTenant');
    expect(await used()).toBe('2026-03-01');
    core.clock.advance(DAY);
    expect(await used()).toBe('2026-03-01');
    await works(first);
    expect(await used()).toBe('2026-03-02');
  });
});

describe('the log', () => {
  const logs = async (query: string) => (await core.manage('listLogs', { query })).at('data') as readonly object[];
  const ALL = rule({ permissions: PRIVATE });

  it('names the key of each call, and the application at that time', async () => {
    const made = await create();
    const [second, firstKey] = await listed();
    await core.call(first, 'createToken', { body: { type: 'token', id: 'one', data: 1 } });
    await core.manage('updateApplication', { id, body: { name: 'renamed', rules: [ALL] } });
    await core.call(String(made.at('key')), 'createToken', { body: { type: 'token', id: 'two', data: 1 } });
    expect(await logs(`actor_id=${id}&operation=createToken`)).toMatchObject([
      { entity_id: 'two', actor_name: 'renamed', actor_key_id: second?.id },
      { entity_id: 'one', actor_name: 'backend', actor_key_id: firstKey?.id },
    ]);
    await remove(second?.id ?? '');
    await core.manage('deleteApplication', { id });
    // So many rows that a search uses the index.
    for (let n = 0; n < 120; n += 1) await core.token({ type: 'token', data: n });
    const ofKey = { entity_type: 'application_key', entity_id: second?.id };
    expect(await logs(`entity_id=${second?.id}`)).toMatchObject([
      { operation: 'deleteApplicationKey', entity_name: 'renamed', actor_name: 'management', ...ofKey },
      { operation: 'createApplicationKey', entity_name: 'backend', ...ofKey },
    ]);
    expect(await logs(`entity_id=${id}`)).toMatchObject([
      { operation: 'deleteApplication', entity_name: 'renamed' },
      { operation: 'updateApplication', entity_name: 'renamed' },
      { operation: 'createApplication', entity_name: 'backend' },
    ]);
  });

  it('names the application of a key that was shown again, and of one that expired', async () => {
    const keyed = () => core.manage('createApplicationKey', { id, body: { expires_at }, idempotencyKey: 'again' });
    const expires_at = inAnHour();
    const made = await keyed();
    await keyed();
    core.clock.advance(3_600_000);
    await core.vault.sweep();
    const named = { entity_name: 'backend', entity_id: made.at('id') };
    const found = await logs(`entity_id=${made.at('id')}`);
    expect(found).toHaveLength(3);
    // The entry about the second reply is written later than the reply.
    expect(found).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ ...named, operation: 'createApplicationKey', revealed: false }),
        expect.objectContaining({ ...named, operation: 'createApplicationKey', revealed: true }),
        expect.objectContaining({ ...named, operation: 'expireApplicationKey', actor_type: 'vault' }),
      ]),
    );
  });
});
