import { beforeEach, describe, expect, it } from 'vitest';
import { type Core, members, openCore, rule, wrongPaths } from './core-fixture.ts';

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

  it('404 for the id of no application, a deleted one, and one of another tenant', async () => {
    const { id } = await made({ type: 'private', permissions: ['token:read'] });
    const { application } = await core.vault.createTenant('other');
    await core.manage('deleteApplication', { id });
    for (const each of [id, application.id, '00000000-0000-4000-8000-000000000000']) {
      expect((await put(each, { permissions: ['token:read'] })).status).toBe(404);
      for (const operation of ['getApplication', 'regenerateApplicationKey', 'deleteApplication'] as const) {
        expect((await core.manage(operation, { id: each })).status).toBe(404);
      }
    }
    expect((await core.call(application.key, 'getTenant')).status).toBe(200);
  });
});

describe('Delete and Regenerate (§3, §5.4)', () => {
  it('regenerating returns the application and its new key, and accepts no body', async () => {
    const { id, key, answer } = await made({ type: 'private', permissions: ['token:read'] });
    const renewed = await core.manage('regenerateApplicationKey', { id, mediaType: undefined });
    expect(members(renewed)).toEqual([...members(answer), 'modified_at', 'modified_by'].sort());
    expect((await core.call(key, 'listTokens')).status).toBe(401);
    expect((await core.call(String(renewed.at('key')), 'listTokens')).status).toBe(200);
    const body = await core.manage('regenerateApplicationKey', { id, bodyText: '{"key":1}' });
    expect(body.status).toBe(400);
    expect((await core.manage('regenerateApplicationKey', { id, mediaType: 'text/plain' })).status).toBe(200);
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
