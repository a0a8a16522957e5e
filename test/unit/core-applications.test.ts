import { beforeEach, describe, expect, it } from 'vitest';
import { type Core, openCore, rule, wrongPaths } from './core-fixture.ts';

let core: Core;

beforeEach(async () => {
  core = await openCore();
});

const create = (body: object) => core.manage('createApplication', { body: { name: 'a', ...body } });
const put = (id: string, body: object) => core.manage('updateApplication', { id, body: { name: 'a', ...body } });
const condition = (over: object) => ({ attribute: 'container', operator: 'starts_with', value: '/', ...over });
const childRule = (over: object) => rule({ container: undefined, conditions: [condition({})], ...over });

async function made(body: object) {
  const answer = await create(body);
  expect(answer.status, answer.text).toBe(201);
  return { answer, id: String(answer.at('id')), key: String(answer.at('key')) };
}

describe('Create Application (§4.2)', () => {
  it.each(['private', 'public', 'management', 'expiring'])('a management application creates type %s', async (type) => {
    const permissions = {
      private: 'token:read',
      public: 'token:create',
      management: 'tenant:read',
      expiring: 'token:read',
    };
    const { answer } = await made({ type, permissions: [permissions[type as keyof typeof permissions]] });
    expect(answer.at('rules')).toEqual([]);
    expect(answer.at('expires_at')).toBe(type === 'expiring' ? '2026-03-01T09:31:00.000+00:00' : undefined);
  });
});

describe('Update Application (§4.2, decisions §6)', () => {
  it('absent or null permissions mean none', async () => {
    const { id } = await made({ type: 'private', permissions: ['token:read'] });
    expect((await put(id, { rules: [rule({})] })).at('permissions')).toEqual([]);
    expect((await put(id, { permissions: null, rules: [rule({})] })).at('permissions')).toEqual([]);
  });

  it.each([
    ['nothing granted', {}, ['permissions']],
    ['a priority twice', { rules: [rule({}), rule({})] }, ['rules.1.priority']],
  ])('%s is a 400, whether or not the application exists', async (_what, body, paths) => {
    const { id } = await made({ type: 'private', permissions: ['token:read'] });
    for (const each of [id, '00000000-0000-4000-8000-000000000000'])
      expect(wrongPaths(await put(each, body))).toEqual(paths);
  });

  it('an application grants itself only permissions that it holds', async () => {
    const permissions = ['application:update', 'tenant:read'];
    const { id, key } = await made({ type: 'management', permissions });
    const self = (wanted: readonly string[]) =>
      core.call(key, 'updateApplication', { id, body: { name: 'self', permissions: wanted } });
    const refused = await self([...permissions, 'tenant:delete']);
    expect([refused.status, refused.at('type')]).toEqual([403, 'urn:token-vault:problem:permission_missing']);
    expect(refused.at('detail')).toContain('tenant:delete');
    expect((await core.manage('getApplication', { id })).at('permissions')).toEqual(permissions);
    expect((await put(id, { permissions: [...permissions, 'report:read'] })).status).toBe(200);
    expect((await self(['report:read', 'application:update'])).status).toBe(200);
    expect((await self(permissions)).status).toBe(403);
  });
});

describe('expiring applications (§4.2, decisions §6)', () => {
  it('are limited in number for each creator while they live: 429 beyond', async () => {
    const capped = await openCore({ limits: { expiring: 2 } });
    const body = { name: 'p', type: 'private', rules: [rule({})], can_create_expiring_applications: true };
    const creators = [capped.management, await capped.application(body), await capped.application(body)];
    const mint = (by: string) =>
      capped.call(by, 'createApplication', { body: { name: 'c', type: 'expiring', rules: [childRule({})] } });
    for (const by of creators) {
      expect([(await mint(by)).status, (await mint(by)).status]).toEqual([201, 201]);
      const refused = await mint(by);
      expect([refused.status, refused.at('detail')]).toEqual([
        429,
        'The application has 2 valid expiring applications, and may have 2.',
      ]);
    }
    expect((await capped.call(capped.management, 'createApplication', { body })).status).toBe(201);
    capped.clock.advance(60_000);
    for (const by of creators) expect((await mint(by)).status).toBe(201);
  });
});

describe('an application is held to its type (decisions §6)', () => {
  const condition = { attribute: 'id', operator: 'equals', value: 'x' };
  const DELETING = rule({ permissions: ['token:delete'] });
  const EXPIRING = { type: 'expiring', permissions: ['token:read'] };
  const cases: readonly (readonly [string, object, string])[] = [
    ['a management permission', { type: 'private', permissions: ['tenant:read'] }, 'permissions.0'],
    ['token:read for public', { type: 'public', permissions: ['token:create', 'token:read'] }, 'permissions.1'],
    ['token:delete in a public rule', { type: 'public', rules: [DELETING] }, 'rules.0.permissions.0'],
    ['any rule for management', { type: 'management', rules: [rule({ container: undefined })] }, 'rules'],
    ['a rule without a container', { type: 'private', rules: [rule({ container: undefined })] }, 'rules.0.container'],
    ['conditions for private', { type: 'private', rules: [rule({ conditions: [condition] })] }, 'rules.0.conditions'],
    ['a container for expiring', { type: 'expiring', rules: [rule({ conditions: [condition] })] }, 'rules.0.container'],
    ['no conditions for expiring', { type: 'expiring', rules: [rule({ container: undefined })] }, 'rules.0.conditions'],
    ['one priority twice', { type: 'private', rules: [rule({}), rule({})] }, 'rules.1.priority'],
    ['an end two days ahead', { ...EXPIRING, expires_at: '2026-03-03T10:00:00Z' }, 'expires_at'],
    ['an end in the past', { ...EXPIRING, expires_at: '2026-03-01T09:00:00Z' }, 'expires_at'],
  ];

  it.each(cases)('%s', async (_what, over, path) => {
    const answer = await create(over);
    expect(answer.status).toBe(400);
    // One mistake has one message: a second one could contradict it.
    expect(Object.keys(answer.at('errors') as object)).toEqual([path]);
  });
});

it('the first management application was created by the owner; it can regenerate its key and delete itself', async () => {
  const [tenant, own] = [await core.manage('getTenant'), await core.manage('getApplicationByKey')];
  expect(own.at('created_by')).toBe(tenant.at('owner_id'));
  const id = String(own.at('id'));
  const key = String((await core.manage('regenerateApplicationKey', { id })).at('key'));
  expect((await core.manage('getTenant')).status).toBe(401);
  expect((await core.call(key, 'deleteApplication', { id })).status).toBe(204);
  expect((await core.call(key, 'getTenant')).status).toBe(401);
});

describe('an integer of a body', () => {
  const send = (operation: 'createApplication' | 'updateApplication', priority: string, id = '') => {
    const body = { name: 'n', ...(id === '' && { type: 'private' }), rules: [rule({ priority: 7 })] };
    const bodyText = JSON.stringify(body).replace('7', priority);
    return core.manage(operation, { bodyText, ...(id !== '' && { id }) });
  };

  it.each(['2', '2.0', '2e0', '20e-1', '0.2E+1', '2.000000000000000000000'])(
    '%s is 2, stored and shown',
    async (text) => {
      const created = await send('createApplication', text);
      expect([created.status, created.at('rules')]).toEqual([201, [rule({ priority: 2 })]]);
      const id = String(created.at('id'));
      expect((await send('updateApplication', text, id)).status).toBe(200);
      const stored = await core.manage('getApplication', { id });
      expect(stored.at('rules')).toEqual([rule({ priority: 2 })]);
    },
  );

  it.each([
    ['2.5', 'must be an integer'],
    ['2.00000000000000000001', 'must be an integer'],
    ['0.0', 'must be at least 1'],
    ['1e10', 'must be at most 2147483647'],
    ['1e400', 'must be an integer'],
  ])('%s is not accepted: %s', async (text, message) => {
    const answer = await send('createApplication', text);
    expect([answer.status, answer.at('errors')]).toEqual([400, { 'rules.0.priority': [message] }]);
  });
});
