import { describe, expect, it } from 'vitest';
import type { Permission } from '../../src/contract/permissions.ts';
import { explainAccess } from '../../src/core/access/explain-access.ts';
import { createGrants, type Grants, type TokenFacts } from '../../src/core/access/grants.ts';
import { openTestVault } from '../test-vault.ts';

describe('a draft', () => {
  it('requires application:create, too', async () => {
    const world = await openTestVault('drafts');
    const reader = await world.application({ name: 'r', type: 'management', permissions: ['application:read'] });
    const writer = await world.application({ name: 'w', type: 'private', permissions: ['token:create'] });
    await world.call(writer, 'createToken', { body: { id: 'token-1', type: 'token', data: 1 } });
    const application = { type: 'private', permissions: ['token:read'] };
    const ask = async (key: string) =>
      (await world.call(key, 'explainAccess', { body: { application, token_id: 'token-1' } })).status;
    expect([await ask(reader), await ask(world.management)]).toEqual([403, 200]);
  });
});

describe('its own access', () => {
  const secrets = /\/bank\//;
  const rules = [
    { description: '', priority: 1, container: '/pci/', transform: 'mask', permissions: ['token:read'] },
    { description: '', priority: 2, container: '/bank/low/', transform: 'mask', permissions: ['token:delete'] },
  ];

  async function open() {
    const world = await openTestVault('own access');
    const make = (body: object) => world.application({ name: 'n', type: 'private', ...body });
    const writer = await make({ permissions: ['token:create'] });
    const tokens = { 'card-1': ['/pci/high/'], 'bank-1': ['/bank/high/'], 'both-1': ['/bank/low/', '/x/'] };
    for (const [id, containers] of Object.entries(tokens))
      await world.call(writer, 'createToken', { body: { id, type: 'token', data: 1, containers } });
    const explain = (key: string, token_id: string, more: object = {}) =>
      world.call(key, 'explainAccess', { body: { token_id, ...more } });
    return { world, make, explain };
  }

  it('needs no permission, but that of others needs application:read', async () => {
    const { world, make, explain } = await open();
    const key = await make({ rules });
    const { status, text } = await explain(key, 'card-1');
    expect([status, JSON.parse(text).permissions[1]]).toMatchObject([200, { allowed: true, transform: 'mask' }]);
    expect(JSON.parse(text).containers).toEqual(['/pci/high/']);
    const { data } = JSON.parse((await world.call(world.management, 'listApplications')).text);
    expect((await explain(key, 'card-1', { application_id: data[0].id })).status).toBe(403);
    expect((await explain(key, 'none')).status).toBe(404);
  });

  it('on a token that it may not read names no container of the token', async () => {
    const { make, explain } = await open();
    const { text } = await explain(await make({ rules: rules.slice(0, 1) }), 'bank-1');
    expect(text).not.toMatch(secrets);
    expect(JSON.parse(text)).toMatchObject({ containers: [], permissions: { 0: { allowed: false } } });
    const own = JSON.parse((await explain(await make({ rules }), 'bank-1')).text).permissions[0].own.rules;
    expect(own).toEqual([{ priority: 1, outcome: 'no_match', reason: 'the token is not in /pci/' }]);
  });

  it.each([[[]], [['token:update']]])('on such a token is the same wherever the token is: %j', async (permissions) => {
    const { world, make, explain } = await open();
    const blind = ['/bank/high/', '/x/'].map((container, at) => {
      return { description: '', priority: 3 + at, container, transform: 'mask', permissions: ['token:create'] };
    });
    const key = await make({ permissions, rules: [...rules, ...blind] });
    await world.call(key, 'createToken', { body: { id: 'bank-3', type: 'token', data: 1, containers: ['/x/'] } });
    const there = await explain(key, 'bank-1');
    expect(there.status).toBe(200);
    for (const id of ['bank-3', 'both-1'])
      expect((await explain(key, id)).text.replaceAll(id, 'bank-1')).toBe(there.text);
  });

  it('of an expiring key on such a token is the same wherever the token is', async () => {
    const { make, explain } = await open();
    const conditions = [
      { attribute: 'id', operator: 'equals', value: 'card-2' },
      { attribute: 'container', operator: 'starts_with', value: '/pci/' },
    ];
    const [{ container: _, ...rule } = {}] = rules;
    const key = await make({ type: 'expiring', rules: [{ ...rule, conditions }] });
    const [there, elsewhere] = [await explain(key, 'bank-1'), await explain(key, 'card-1')];
    expect([there.status, there.text]).toEqual([200, elsewhere.text.replaceAll('card-1', 'bank-1')]);
  });

  it.each([
    ['management', ['application:read']],
    ['public', ['token:create']],
  ])('of a %s key is the same for tokens that exist and that do not', async (type, permissions) => {
    const { make, explain } = await open();
    const key = await make({ type, permissions });
    const [known, unknown] = [await explain(key, 'bank-1'), await explain(key, 'bank-2')];
    expect([known.status, unknown.status]).toEqual([200, 200]);
    expect(known.text).toBe(unknown.text.replace('bank-2', 'bank-1'));
  });
});

describe('an explanation', () => {
  const token: TokenFacts = { id: 'card-1', containers: ['/pci/high/', '/bank/low/'] };
  const rule = (priority: number, container: string, ...permissions: Permission[]) => {
    return { description: '', priority, container, transform: 'reveal' as const, permissions };
  };
  const grants = (rules: Parameters<typeof createGrants>[0]['rules'], plain: Permission[] = [], within?: Grants) =>
    createGrants({ permissions: plain, rules }, within);

  const READ = 'token:read';
  const REASONS: Readonly<Record<string, readonly [Grants, typeof READ | 'token:update' | 'token:search']>> = {
    'Rule 2 is the first that matches and grants token:read.': [grants([rule(2, '/pci/', READ)]), READ],
    'No rule governs; the application holds token:read as a plain permission.': [grants([], [READ]), READ],
    'Rule 1 is the first that matches and grants token:read. The creator of the application has only mask.': [
      grants([rule(1, '/', READ)], [], grants([], [READ])),
      READ,
    ],
  };
  const REFUSALS: typeof REASONS = {
    'No rule and no plain permission grants token:read on this token.': [grants([rule(1, '/x/', READ)]), READ],
    'A change needs token:update in every container; no rule grants it in /bank/low/.': [
      grants([rule(1, '/pci/', 'token:update')]),
      'token:update',
    ],
    'A search finds only tokens that the application may read.': [
      grants([rule(1, '/', 'token:search')]),
      'token:search',
    ],
    'The creator of the application has no token:read on this token.': [grants([], [READ], grants([])), READ],
  };

  it.each([
    ...Object.entries(REASONS).map(([reason, of]) => [reason, true, ...of] as const),
    ...Object.entries(REFUSALS).map(([reason, of]) => [reason, false, ...of] as const),
  ])('%s Allowed: %s', (reason, allowed, held, permission) => {
    expect(explainAccess(held, permission, token)).toMatchObject({ allowed, reason });
  });

  it('names the conditions that fail', () => {
    const conditions = [
      { attribute: 'id' as const, operator: 'equals' as const, value: 'card-2' },
      { attribute: 'container' as const, operator: 'starts_with' as const, value: '/pci/' },
    ];
    const { own } = explainAccess(
      grants([{ description: '', priority: 1, conditions, transform: 'mask', permissions: ['token:read'] }]),
      'token:read',
      token,
    );
    expect(own.rules).toEqual([{ priority: 1, outcome: 'no_match', reason: 'card-1 is not card-2' }]);
  });
});
