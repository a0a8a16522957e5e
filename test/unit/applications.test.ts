import { beforeEach, describe, expect, it } from 'vitest';
import { openTestVault, type TestVault } from '../test-vault.ts';

let world: TestVault;

beforeEach(async () => {
  world = await openTestVault();
});

const rule = (over: object) => ({
  description: 'r',
  priority: 1,
  container: '/',
  transform: 'mask',
  permissions: ['token:read'],
  ...over,
});
const create = (body: object) => world.call(world.management, 'createApplication', { body });

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
    const answer = await create({ name: 'app', ...over });
    expect(answer.status).toBe(400);
    // One mistake has one message: a second one could contradict it.
    expect(Object.keys(answer.at('errors') as object)).toEqual([path]);
  });
});

describe('keys', () => {
  it('an application can regenerate its key and delete itself', async () => {
    const id = String((await world.call(world.management, 'getApplicationByKey')).at('id'));
    const key = String((await world.call(world.management, 'regenerateApplicationKey', { id })).at('key'));
    expect((await world.call(world.management, 'getTenant')).status).toBe(401);
    expect((await world.call(key, 'deleteApplication', { id })).status).toBe(204);
    expect((await world.call(key, 'getTenant')).status).toBe(401);
  });
});

describe('list and get', () => {
  it("the first management application was created by the tenant's owner", async () => {
    const tenant = await world.call(world.management, 'getTenant');
    const own = await world.call(world.management, 'getApplicationByKey');
    expect(own.at('created_by')).toBe(tenant.at('owner_id'));
    expect(tenant.at('name')).toBe('test');
  });
});

describe('an integer of a body', () => {
  const send = (operation: 'createApplication' | 'updateApplication', priority: string, id = '') => {
    const body = { name: 'n', ...(id === '' && { type: 'private' }), rules: [rule({ priority: 7 })] };
    const bodyText = JSON.stringify(body).replace('7', priority);
    return world.call(world.management, operation, { bodyText, ...(id !== '' && { id }) });
  };

  it.each(['2', '2.0', '2e0', '20e-1', '0.2E+1', '2.000000000000000000000'])(
    '%s is 2, stored and shown',
    async (text) => {
      const created = await send('createApplication', text);
      expect([created.status, created.at('rules')]).toEqual([201, [rule({ priority: 2 })]]);
      const id = String(created.at('id'));
      expect((await send('updateApplication', text, id)).status).toBe(200);
      const stored = await world.call(world.management, 'getApplication', { id });
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

describe('pages', () => {
  it('a page beyond the last one is empty', async () => {
    const answer = await world.call(world.management, 'listApplications', { query: 'page=999999999999999&size=100' });
    expect([answer.status, answer.at('data')]).toEqual([200, []]);
  });
});
