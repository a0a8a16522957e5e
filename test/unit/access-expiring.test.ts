import { beforeEach, describe, expect, it } from 'vitest';
import { EXPIRING } from '../vectors/access-rules.ts';
import { type AccessWorld, definition, openAccessWorld, sightOf } from './access-fixture.ts';

let world: AccessWorld;

beforeEach(async () => {
  world = await openAccessWorld();
});

describe('an expiring application that a private application creates', () => {
  it.each(EXPIRING)('$name ($origin)', async ({ creator, application, status }) => {
    await world.token({ id: 'in-pci', containers: ['/pci/high/'] });
    await world.token({ id: 'in-bank', containers: ['/bank/high/'] });
    const key = await world.apply(creator);
    const made = await world.call(key, 'createApplication', { body: definition(application) });
    expect(made.status).toBe(status);
    const { text } = await world.call(world.management, 'listApplications');
    expect(text.includes('"type":"expiring"')).toBe(status === 201);
  });
});

describe('the life of an expiring application (decisions §6)', () => {
  const reveal = { priority: 1, container: '/', transform: 'reveal', permissions: ['token:read'] } as const;
  const conditions = [{ attribute: 'container', operator: 'starts_with', value: '/' }] as const;
  const { container: _, ...everywhere } = reveal;
  const child = { type: 'expiring', rules: [{ ...everywhere, conditions }] } as const;
  let creatorId: string;
  let creatorKey: string;
  let key: string;
  let id: string;

  beforeEach(async () => {
    const body = definition({ type: 'private', rules: [reveal], can_create_expiring_applications: true });
    const creator = await world.call(world.management, 'createApplication', { body });
    creatorId = String(creator.at('id'));
    creatorKey = String(creator.at('key'));
    const made = await world.call(creatorKey, 'createApplication', {
      body: definition(child),
    });
    expect([made.status, made.at('created_by')]).toEqual([201, creatorId]);
    key = String(made.at('key'));
    id = await world.token({ containers: ['/pci/'] });
    expect(sightOf((await world.call(key, 'getToken', { id })).at('data'))).toBe('reveal');
  });

  const replace = async (rules: readonly object[]) => {
    const body = { name: 'app', rules: rules.map((rule) => ({ description: '', ...rule })) };
    expect((await world.call(world.management, 'updateApplication', { id: creatorId, body })).status).toBe(200);
  };

  it('shrinks with its creator and never grows beyond its own rules', async () => {
    await replace([{ ...reveal, transform: 'mask' }]);
    expect(sightOf((await world.call(key, 'getToken', { id })).at('data'))).toBe('mask');
    await replace([{ ...reveal, container: '/bank/' }]);
    expect((await world.call(key, 'getToken', { id })).status).toBe(403);
    await replace([{ ...reveal, permissions: ['token:create'] }]);
    expect((await world.call(key, 'listTokens')).status).toBe(403);
    await replace([{ ...reveal, permissions: ['token:read', 'token:create'] }]);
    expect(sightOf((await world.call(key, 'getToken', { id })).at('data'))).toBe('reveal');
    expect((await world.call(key, 'createToken', { body: { type: 'token', data: 1 } })).status).toBe(403);
  });

  it('ends with its creator', async () => {
    expect((await world.call(world.management, 'deleteApplication', { id: creatorId })).status).toBe(204);
    expect((await world.call(key, 'getToken', { id })).status).toBe(401);
    expect((await world.call(world.management, 'listApplications')).text).not.toContain('"type":"expiring"');
  });

  it('ends with the key of its creator', async () => {
    const before = await world.call(world.management, 'getApplication', { id: creatorId });
    expect(before.at('expiring_applications')).toBe(1);
    const renewed = await world.call(world.management, 'regenerateApplicationKey', { id: creatorId });
    expect(renewed.at('expiring_applications')).toBeUndefined();
    expect((await world.call(creatorKey, 'listTokens')).status).toBe(401);
    expect((await world.call(key, 'getToken', { id })).status).toBe(401);
    expect((await world.call(world.management, 'listApplications')).text).not.toContain('"type":"expiring"');
    const after = await world.call(world.management, 'getApplication', { id: creatorId });
    expect(after.at('expiring_applications')).toBe(0);
    const next = await world.call(String(renewed.at('key')), 'createApplication', { body: definition(child) });
    expect(next.status).toBe(201);
  });

  it('ends without ending its creator', async () => {
    world.clock.advance(60_000);
    expect((await world.call(key, 'getToken', { id })).status).toBe(401);
    expect((await world.call(creatorKey, 'getToken', { id })).status).toBe(200);
  });

  it.each(['deleteApplication', 'regenerateApplicationKey'] as const)(
    'ends with %s of the management application that created it',
    async (operation) => {
      const made = await world.call(world.management, 'createApplication', {
        body: definition({ type: 'management', permissions: ['application:create'] }),
      });
      const own = await world.call(String(made.at('key')), 'createApplication', { body: definition(child) });
      const reads = () => world.call(String(own.at('key')), 'getToken', { id });
      expect((await reads()).status).toBe(200);
      const body = definition({ type: 'management', permissions: ['application:read'] });
      await world.call(world.management, 'updateApplication', { id: String(made.at('id')), body });
      expect((await reads()).status).toBe(200);
      await world.call(world.management, operation, { id: String(made.at('id')) });
      expect((await reads()).status).toBe(401);
    },
  );
});
