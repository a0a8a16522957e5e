import { beforeEach, describe, expect, it } from 'vitest';
import { type ApplyOptions, applySeed } from '../../src/cli/commands/seed/apply-seed.ts';
import { readSeedFile } from '../../src/cli/commands/seed/read-seed-file.ts';
import { batchesOf } from '../../src/cli/commands/seed/seed-calls.ts';
import { createSeedDocument } from '../../src/cli/commands/seed/seed-document.ts';
import { seededIds, seedSummary } from '../../src/cli/commands/seed/seed-output.ts';
import type { Call, Client } from '../../src/contract/call.ts';
import { openTestVault, type TestVault } from '../test-vault.ts';

const SEED = `
seed: shop
tenant: { name: Shop, settings: { deduplicate_tokens: "false" } }
apps:
  web: { type: public, permissions: [token:create] }
  reader:
    name: The reader
    type: private
    rules: [{ description: all, priority: 1, container: /PCI/, transform: reveal, permissions: [token:read] }]
tokens:
  visa: { type: card, data: { number: "4242424242424242", cvc: "123" }, metadata: { app: "\${apps.web.id}" } }
  ssn-1: { type: social_security_number, data: 123-45-6789 }
  cards: { generate: card, count: 30 }
`;

let world: TestVault;
let reader = '';
beforeEach(openWorld);
async function openWorld() {
  world = await openTestVault();
  const rules = [{ description: 'all', priority: 1, container: '/', transform: 'reveal', permissions: EVERYTHING }];
  reader = await world.application({ name: 'reader of the test', type: 'private', rules });
}

const EVERYTHING = ['token:create', 'token:read', 'token:update', 'token:delete'];

async function apply(text: string, options: ApplyOptions = {}, client: Client = world.client) {
  const document = createSeedDocument([await readSeedFile('s.yaml', text)], {}, 0);
  const applied = await applySeed(client, world.management, document, options);
  const { created, changed, unchanged, data } = seedSummary(applied, true);
  return { counts: [created, changed, unchanged], ids: seededIds(applied, document), differing: data };
}

const token = (id: string) => world.call(reader, 'getToken', { id });
async function appNames() {
  const list = await world.call(world.management, 'listApplications', { query: 'size=100' });
  return (list.at('data') as readonly { readonly name: string }[]).map(({ name }) => name).sort();
}
/**
 * Runs `work` once for each of its calls, after `start`, with a client that runs `before` ahead of that call. Resolves to
 * the number of calls.
 */
async function atEachCall(
  start: () => Promise<unknown>,
  before: () => Promise<unknown>,
  work: (client: Client) => Promise<void>,
): Promise<number> {
  for (let at = 0; ; at++) {
    await start();
    let left = at;
    const call = async (one: Call) => {
      if (left-- === 0) await before();
      return world.client.call(one);
    };
    await work({ ...world.client, call });
    if (left >= 0) return at;
  }
}
/** Returns a client that records its calls. */
function recorded() {
  const calls: Call[] = [];
  const call = (one: Call) => {
    calls.push(one);
    return world.client.call(one);
  };
  return { calls, client: { ...world.client, call } };
}
const kill = () => Promise.reject(new Error('killed'));
const OWN_APPS = ['management', 'reader of the test'];
const SEEDED_APPS = [...OWN_APPS, 'The reader', 'seed: shop', 'web'].sort();
async function expectWhole() {
  expect((await apply(SEED)).counts).toEqual([0, 0, 35]);
  expect(await appNames()).toEqual(SEEDED_APPS);
  expect((await world.call(reader, 'listTokens')).at('pagination.total_items')).toBe(32);
}

it.each([
  ['by count', [1, 1, 1], [[1, 1], [1]]],
  ['by size', [6, 5, 5], [[6], [5, 5]]],
  ['with a larger item alone', [1, 11, 1], [[1], [11], [1]]],
])('batches are split %s', (_, sizes, batches) => {
  expect(batchesOf(sizes, 2, 10, (size) => size)).toEqual(batches);
});

describe('applySeed', () => {
  it('keeps the settings that it does not name', async () => {
    await apply('tenant: { settings: { deduplicate_tokens: "true" } }');
    await apply('tenant: { name: Shop }');
    const tenant = await world.call(world.management, 'getTenant');
    expect([tenant.at('name'), tenant.at('settings')]).toEqual(['Shop', { deduplicate_tokens: 'true' }]);
  });

  it('finds an application behind a hundred others', async () => {
    await apply('apps: { web: { type: public, permissions: [token:create] } }');
    const other = { type: 'public', permissions: ['token:create'] };
    for (let n = 0; n < 100; n += 1) await world.application({ name: `other ${n}`, ...other });
    expect((await apply('apps: { web: { type: public, permissions: [token:create] } }')).counts).toEqual([0, 0, 1]);
  });

  it('compares values as the vault stores them', async () => {
    const forms = `
apps:
  web: { type: private, can_create_expiring_applications: false, rules: [{ priority: 1, description: "", container: /A/,
    permissions: [token:read], transform: mask }] }
tokens:
  one: { type: token, data: { b: 1.10, a: [] }, containers: [/X/, /x/, /Y/], metadata: {}, expires_at: 1/2/2099 3:04:05 PM -05:00 }
  two: { type: card_number, data: "4242424242424242", expires_at: "2099-01-02", mask: x, search_indexes: [] }
`;
    await apply(forms);
    expect((await apply(forms)).counts).toEqual([0, 0, 3]);
    expect((await apply(forms.replace('1.10', '1.1'))).counts).toEqual([0, 1, 2]);
  });

  it('changes what differs, with masks, search indexes and fingerprint expressions', async () => {
    await apply(SEED);
    const hidden = SEED.replace('data: 123-45-6789', 'data: 123-45-6789, search_indexes: ["{{ data }}"]').replace(
      'cvc: "123" }',
      'cvc: "123" }, mask: { last: "{{ data.number | last4 }}" }, fingerprint_expression: "{{ data.number }}"',
    );
    // The API never returns these members, so alone they are no difference.
    expect((await apply(hidden)).counts).toEqual([0, 0, 35]);
    const changed = hidden
      .replace('name: The reader', 'name: The reader\n    can_create_expiring_applications: true')
      .replace('cvc: "123" }', 'expiration_month: 12 }, containers: [/x/]')
      .replace(`metadata: { app: "\${apps.web.id}" }`, 'metadata: { b: x }');
    const differing = [
      { action: 'change', item: 'apps.reader', members: ['can_create_expiring_applications'] },
      { action: 'change', item: 'tokens.visa', members: ['data', 'containers', 'metadata'] },
    ];
    expect((await apply(changed, { dryRun: true })).differing).toEqual(differing);
    expect((await token('visa')).at('containers')).toEqual(['/pci/high/']);
    expect((await apply(changed)).differing).toEqual(differing);
    const visa = await token('visa');
    expect(visa.at('data')).toEqual({ number: '4242424242424242', expiration_month: 12 });
    expect([visa.at('metadata'), visa.at('containers')]).toEqual([{ b: 'x' }, ['/x/']]);
    const stored = async () => {
      const shown = await world.call(reader, 'updateToken', { id: 'visa', body: {} });
      return [shown.at('mask'), shown.at('fingerprint_expression')];
    };
    expect(await stored()).toEqual([{ last: '{{ data.number | last4 }}' }, '{{ data.number }}']);
    expect((await apply(changed)).counts).toEqual([0, 0, 35]);
    // Change back: a missing member gets the default of the type.
    expect((await apply(SEED)).counts).toEqual([0, 2, 33]);
    expect(await stored()).toEqual([expect.objectContaining({ number: expect.any(String) }), '{{ data | stringify }}']);
    await expectWhole();
  });

  it('changes records of these ids and names, whoever made them', async () => {
    const own = await world.application({ name: 'seed: shop', type: 'private', permissions: ['token:read'] });
    await world.application({ name: 'web', type: 'public', permissions: ['token:update'] });
    await world.call(reader, 'createToken', {
      body: { id: 'visa', type: 'card', data: { number: '378282246310005' } },
    });
    expect((await apply(SEED)).counts).toEqual([32, 3, 0]);
    expect((await token('visa')).at('data.cvc')).toBe('123');
    // An apply regenerates the key of the application that makes the tokens.
    expect((await world.call(own, 'getToken', { id: 'visa' })).status).toBe(401);
    await expectWhole();
  });

  it('restores what was changed or deleted, but no deleted token', async () => {
    await apply(SEED);
    await world.call(reader, 'updateToken', { id: 'cards-7', body: { metadata: { a: 'b' } } });
    const { reader: gone } = (await apply(SEED, { dryRun: true })).ids['apps'] as Readonly<
      Record<string, { id: string }>
    >;
    await world.call(world.management, 'deleteApplication', { id: gone?.id ?? '' });
    expect((await apply(SEED)).counts).toEqual([1, 1, 33]);
    await expectWhole();
    // The id of a deleted token stays taken (decisions §5).
    await world.call(reader, 'deleteToken', { id: 'visa' });
    await expect(apply(SEED)).rejects.toMatchObject({
      code: 'conflict',
      details: [expect.stringMatching(/^s\.yaml:11: tokens\.visa\.id: /)],
      hint: expect.stringContaining('give the item another `id:`'),
    });
  });

  it('reports all errors of the vault with file, line and member, and can be repeated', async () => {
    // The vault alone can find these errors: one by evaluation, one by its clock.
    const wrong = SEED.replace('metadata:', 'mask: "{{ data | upcase }}", metadata:').replace(
      'data: 123-45-6789',
      'data: 123-45-6789, expires_at: 1/1/2001',
    );
    await expect(apply(wrong)).rejects.toMatchObject({
      code: 'invalid_data',
      message: 'the seed has 2 errors',
      details: [
        expect.stringMatching(/^s\.yaml:11: tokens\.visa\.mask: /),
        expect.stringMatching(/^s\.yaml:12: tokens\.ssn-1\.expires_at: /),
      ],
      hint: expect.stringMatching(/^regenerate the lost keys of web \(.*\), reader \(.*\) with /),
    });
    expect((await token('cards-30')).status).toBe(404);
    expect((await apply(SEED)).counts).toEqual([32, 0, 3]);
    await expectWhole();
  });

  it.each([
    ['tokens: { pin: { type: token, data: { a: null, b: [{ c: null }] }, mask: { a: null } } }', [0, 0, 1]],
    ['tokens: { pin: { type: token, data: { a: null, b: [] } } }', [0, 1, 0]],
    ['tokens: { pin: { type: token, data: { b: [{ c: null }] } } }', [0, 1, 0]],
    ['tokens: { pin: { type: token, data: { a: null, b: [{ c: null }] }, metadata: { m: x } } }', [0, 1, 0]],
  ])('keeps a null inside an object: %s', async (text, counts) => {
    await apply('tokens: { pin: { type: token, data: { a: null, b: [{ c: null }] } } }');
    expect((await apply(text)).counts).toEqual(counts);
    expect((await apply(text)).counts).toEqual([0, 0, 1]);
  });

  it.each([
    ['the content of another token', 'tokens: { two: { type: token, data: x } }', ': tokens.two: the tenant dedup'],
    [
      'another type of an application',
      'apps: { web: { type: management, permissions: [tenant:read] } }',
      'apps.web.type: ',
    ],
    [
      'a name of two applications',
      'apps: { twice: { type: public, permissions: [token:create] } }',
      'apps.twice: 2 app',
    ],
    ['two applications for a seed', 'seed: twice', 's.yaml:1: seed: 2 applications have the name seed: twice'],
    [
      'a management application for a seed',
      'seed: own',
      's.yaml:1: seed: the application seed: own has the type management',
    ],
    [
      'a new null in an object',
      'tokens: { one: { type: token, data: { a: null } } }',
      ': tokens.one.data: an update cannot',
    ],
    [
      'a null in a mask',
      'tokens: { one: { type: token, data: 2, mask: { a: null } } }',
      ': tokens.one.mask: an update cannot',
    ],
  ])('rejects %s', async (_, text, message) => {
    await apply(`tenant: { settings: { deduplicate_tokens: "true" } }
apps: { web: { type: public, permissions: [token:create] } }
tokens: { one: { type: token, data: x } }`);
    for (const name of ['twice', 'twice', 'seed: twice', 'seed: twice'])
      await world.application({ name, type: 'private', permissions: ['token:read'] });
    await world.application({ name: 'seed: own', type: 'management', permissions: ['tenant:read'] });
    const before = await appNames();
    await expect(apply(text)).rejects.toThrow(message);
    expect(await appNames()).toEqual(before);
  });

  it('is completed by the next apply after a kill between any two calls', async () => {
    const calls = await atEachCall(openWorld, kill, async (killed) => {
      await apply(SEED, {}, killed).catch(() => undefined);
      await apply(SEED);
      await expectWhole();
    });
    expect(calls).toBeGreaterThan(7);
  });

  it('leaves the old or the new state after a kill between any two calls of a change', async () => {
    const before = `
apps: { web: { type: public, permissions: [token:create] } }
tokens:
  one: { type: token, data: { a: 1, b: 2 }, mask: { a: x }, metadata: { m: "1" } }
  pin: { type: token, data: "1234", search_indexes: ["{{ data }}"] }
`;
    const after = before
      .replace('[token:create]', '[token:update]')
      .replace('b: 2 }, mask: { a: x }', 'c: 2 }, mask: { b: y }')
      .replace('"1234", search_indexes: ["{{ data }}"]', '"12345", fingerprint_expression: "{{ data | last4 }}"');
    const stateOf = async (text: string) => {
      expect((await apply(text)).counts).toEqual([0, 0, 3]);
      const members = ['data', 'mask', 'search_indexes', 'fingerprint_expression'];
      const tokens = ['one', 'pin'].map((id) => world.call(reader, 'updateToken', { id, body: {} }));
      return (await Promise.all(tokens)).map((shown) => members.map((name) => shown.at(name)));
    };
    const fresh = async (text: string) => {
      await openWorld();
      await apply(text);
    };
    await fresh(after);
    const expected = await stateOf(after);
    const calls = await atEachCall(
      () => fresh(before),
      kill,
      async (killed) => {
        await apply(after, {}, killed).catch(() => undefined);
        expect((await apply(after)).counts[0]).toBe(0);
        expect(await stateOf(after)).toEqual(expected);
      },
    );
    expect(calls).toBeGreaterThan(5);
  });

  it('is ended by another apply of the seed between any two calls', async () => {
    let lost = 0;
    const start = async () => {
      await openWorld();
      await apply(`${SEED}  one: { type: token, data: x }`);
    };
    const other = () => apply(SEED.replace('"123"', '"321"'));
    await atEachCall(start, other, async (first) => {
      const outcome = await apply(SEED, {}, first).catch((error: unknown) => error);
      if (!(outcome instanceof Error)) return;
      lost += 1;
      const message = 'another apply regenerated the key of the application seed: shop';
      expect(outcome).toMatchObject({ code: 'apply_ended', message });
    });
    expect(lost).toBeGreaterThan(0);
  });

  it('finds differences in a dry run before the first apply, and leaves nothing', async () => {
    const { calls, client } = recorded();
    await world.call(reader, 'createToken', {
      body: { id: 'ssn-1', type: 'social_security_number', data: '123456789' },
    });
    const { counts, differing } = await apply(SEED, { dryRun: true }, client);
    expect(counts).toEqual([33, 2, 0]);
    expect(differing).toContainEqual({ action: 'change', item: 'tokens.ssn-1', members: ['data'] });
    expect(await appNames()).toEqual(OWN_APPS);
    const made = calls.filter(({ operation }) => operation === 'createApplication');
    expect(made.map(({ bodyText = '' }) => JSON.parse(bodyText))).toEqual([
      expect.objectContaining({ type: 'expiring', rules: [expect.objectContaining({ permissions: ['token:read'] })] }),
    ]);
  });

  it('creates tokens in batches, and reports the errors of a batch', async () => {
    const { calls, client } = recorded();
    const text = `tokens:
  cards: { generate: card, count: 450 }
  bad-1: { type: token, data: x, expires_at: 1/1/2001 }
  bad-2: { type: token, data: x, mask: "{{ data | plus: 1 }}" }
`;
    await expect(apply(text, {}, client)).rejects.toMatchObject({
      details: [
        expect.stringMatching(/^s\.yaml:3: tokens\.bad-1\.expires_at: /),
        expect.stringMatching(/^s\.yaml:4: tokens\.bad-2\.mask: /),
      ],
    });
    const operations = calls.map(({ operation }) => operation);
    expect(operations.filter((name) => name === 'tokenize')).toHaveLength(3);
    expect(operations).not.toContain('createToken');
    expect((await apply(text.replace(/ {2}bad.*\n/g, ''))).counts).toEqual([50, 0, 400]);
  });

  it('rejects new applications when their keys cannot be fixed', async () => {
    await expect(apply(SEED, { noNewApps: true })).rejects.toThrow('random ids and keys (web, reader)');
    expect(await appNames()).toEqual(OWN_APPS);
    await apply(SEED);
    expect((await apply(SEED, { noNewApps: true })).counts).toEqual([0, 0, 35]);
  });
});
