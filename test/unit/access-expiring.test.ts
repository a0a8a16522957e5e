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
  let id: string;

  beforeEach(async () => {
    id = await world.token({ containers: ['/pci/'] });
  });

  it('ends without ending its creator', async () => {
    const body = definition({ type: 'private', rules: [reveal], can_create_expiring_applications: true });
    const creator = await world.call(world.management, 'createApplication', { body });
    const made = await world.call(String(creator.at('key')), 'createApplication', { body: definition(child) });
    expect([made.status, made.at('created_by')]).toEqual([201, creator.at('id')]);
    const read = (answer: typeof made) => world.call(String(answer.at('key')), 'getToken', { id });
    expect(sightOf((await read(made)).at('data'))).toBe('reveal');
    world.clock.advance(60_000);
    expect([(await read(made)).status, (await read(creator)).status]).toEqual([401, 200]);
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
