import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type ApplyOptions, applySeed } from '../../src/cli/commands/seed/apply-seed.ts';
import { readSeedFile } from '../../src/cli/commands/seed/read-seed-file.ts';
import { createSeedDocument } from '../../src/cli/commands/seed/seed-document.ts';
import { seededIds, seededVariables, seedSummary } from '../../src/cli/commands/seed/seed-output.ts';
import type { Client } from '../../src/contract/call.ts';
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
afterEach(() => void vi.restoreAllMocks());
beforeEach(openWorld);
async function openWorld() {
  world = await openTestVault();
  const rules = [{ description: 'all', priority: 1, container: '/', transform: 'reveal', permissions: EVERYTHING }];
  reader = await world.application({ name: 'reader of the test', type: 'private', rules });
}

const EVERYTHING = ['token:create', 'token:read', 'token:update', 'token:delete'];

const documentOf = async (text: string) => createSeedDocument([await readSeedFile('s.yaml', text)], {}, 0);

async function apply(text: string, options: ApplyOptions = {}, client: Client = world.client) {
  const document = await documentOf(text);
  const applied = await applySeed(client, world.management, document, options);
  const { seed: _seed, ...counts } = seedSummary(applied, false);
  return { counts, ids: seededIds(applied, document), plan: seedSummary(applied, true).data };
}

const counts = (created: number, changed: number, unchanged: number, removed = 0) => ({
  created,
  changed,
  unchanged,
  removed,
});
const token = (id: string) => world.call(reader, 'getToken', { id });
const appNames = async () => {
  const { text } = await world.call(world.management, 'listApplications', { query: 'size=100' });
  return JSON.parse(text)
    .data.map((app: { readonly name: string }) => app.name)
    .sort();
};
const total = async () => (await world.call(reader, 'listTokens')).at('pagination.total_items');
/** Returns a client that runs `before` ahead of the call with this number, counted from 0. */
function interrupted(at: number, before: () => Promise<unknown>): Client & { reached(): boolean } {
  let left = at;
  return {
    ...world.client,
    call: async (call) => {
      if (left-- === 0) await before();
      return world.client.call(call);
    },
    reached: () => left < 0,
  };
}
const kill = () => Promise.reject(new Error('killed'));
async function expectWhole() {
  expect((await apply(SEED)).counts).toEqual(counts(0, 0, 35));
  expect(await appNames()).toEqual([...SEEDED_APPS, 'The reader', 'web'].sort());
  expect(await total()).toBe(32);
}
const OWN_APPS = ['management', 'reader of the test'];
/** With the application that creates the tokens. */
const SEEDED_APPS = [...OWN_APPS, 'seed: shop'];

describe('applySeed', () => {
  it('creates what the file describes, and then changes nothing', async () => {
    const first = await apply(SEED);
    expect(first.counts).toEqual(counts(34, 1, 0));
    expect(Object.keys(first.ids['apps'] as object)).toEqual(['web', 'reader']);
    const { web } = first.ids['apps'] as Readonly<Record<string, { readonly id: string; readonly key: string }>>;
    const visa = await token('visa');
    expect([visa.at('data.cvc'), visa.at('metadata.app')]).toEqual(['123', web?.id]);
    const made = await world.call(web?.key, 'createToken', { body: { type: 'token', data: 1 } });
    expect(made.status).toBe(201);
    expect(await appNames()).toEqual([...SEEDED_APPS, 'The reader', 'web'].sort());

    const before = await world.call(world.management, 'listApplications');
    const second = await apply(SEED);
    expect(second.counts).toEqual(counts(0, 0, 35));
    expect(second.ids['apps']).toEqual({ web: { id: web?.id }, reader: { id: expect.any(String) } });
    expect((await world.call(world.management, 'listApplications')).text).toBe(before.text);
    expect((await token('visa')).text).toBe(visa.text);
    // The test itself created one token.
    expect(await total()).toBe(33);
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
    expect((await apply(forms)).counts).toEqual(counts(0, 0, 3));
    expect((await apply(forms.replace('1.10', '1.1'))).counts).toEqual(counts(0, 1, 2));
  });

  it('applies and reports changes, including members that no read shows', async () => {
    await apply(SEED);
    const changed = SEED.replace('name: The reader', 'name: Another')
      .replace('cvc: "123" }', 'expiration_month: 12 }, mask: { last: "{{ data.number | last4 }}" }, containers: [/x/]')
      .replace(`metadata: { app: "\${apps.web.id}" }`, 'metadata: { b: x }')
      .replace('data: 123-45-6789', 'data: 123-45-6789, search_indexes: ["{{ data }}"]');
    const planned = await apply(changed, { dryRun: true });
    expect(planned.plan).toEqual([
      { action: 'change', item: 'apps.reader', members: ['name'] },
      { action: 'change', item: 'tokens.visa', members: ['data', 'containers', 'metadata', 'mask'] },
      { action: 'change', item: 'tokens.ssn-1', members: ['search_indexes'] },
    ]);
    expect((await token('visa')).at('containers')).toEqual(['/pci/high/']);
    expect((await apply(changed)).counts).toEqual(counts(0, 3, 32));
    const visa = await token('visa');
    expect(visa.at('data')).toEqual({ number: '4242424242424242', expiration_month: 12 });
    expect([visa.at('metadata'), visa.at('containers')]).toEqual([{ b: 'x' }, ['/x/']]);
    const masking = await world.application({ name: 'm', type: 'private', permissions: ['token:read'] });
    expect((await world.call(masking, 'getToken', { id: 'visa' })).at('data')).toEqual({ last: '4242' });
    expect((await apply(changed)).counts).toEqual(counts(0, 0, 35));
    // Change back: a missing member gets the default of the type.
    expect((await apply(SEED)).counts).toEqual(counts(0, 3, 32));
    expect((await world.call(masking, 'getToken', { id: 'visa' })).at('data.number')).toBe('XXXXXXXXXXXX4242');
    expect((await apply(SEED)).counts).toEqual(counts(0, 0, 35));
  });

  it('restores what another caller changed or deleted', async () => {
    await apply(SEED);
    await world.call(reader, 'updateToken', { id: 'cards-7', body: { metadata: { a: 'b' } } });
    await world.call(reader, 'updateToken', { id: 'visa', body: { data: { cvc: '999' } } });
    const { reader: own } = (await apply(SEED, { dryRun: true })).ids['apps'] as Readonly<
      Record<string, { id: string }>
    >;
    await world.call(world.management, 'deleteApplication', { id: own?.id ?? '' });
    expect((await apply(SEED)).counts).toEqual(counts(1, 2, 32));
    expect([(await token('visa')).at('data.cvc'), (await token('cards-7')).at('metadata')]).toEqual(['123', undefined]);
    // The id of a deleted token stays taken (decisions §5).
    await world.call(reader, 'deleteToken', { id: 'visa' });
    await expect(apply(SEED)).rejects.toMatchObject({
      code: 'conflict',
      message: 's.yaml:11: tokens.visa: the token visa was deleted or has expired, and its id stays taken',
      hint: expect.stringContaining('give it another `id:`'),
    });
  });

  it('explains why a pruned generated token cannot come back', async () => {
    await apply(SEED);
    await apply(SEED.replace('count: 30', 'count: 29'), { prune: true });
    await expect(apply(SEED)).rejects.toMatchObject({
      code: 'conflict',
      message: 's.yaml:13: tokens.cards: the token cards-30 was deleted or has expired, and its id stays taken',
      hint: expect.stringContaining('give the item another name (its ids are NAME-1, NAME-2, …)'),
    });
  });

  it('removes with --prune what it created, and nothing else', async () => {
    await apply(SEED);
    await apply('seed: other\ntokens: { other: { type: token, data: 1 } }');
    await world.call(reader, 'createToken', {
      body: { id: 'cards-x', type: 'token', data: 1, metadata: { seed: 'shop' } },
    });
    const less = SEED.replace(/ {2}web: .*\n/, '')
      .replace(`"\${apps.web.id}"`, 'x')
      .replace('count: 30', 'count: 29')
      .replace(/ {2}ssn-1.*\n/, '');
    expect((await apply(less)).counts).toEqual(counts(0, 1, 31));
    expect((await apply(less, { prune: true, dryRun: true })).plan).toEqual([
      { action: 'remove', item: 'tokens.cards-30', members: [] },
      { action: 'remove', item: 'tokens.ssn-1', members: [] },
      { action: 'remove', item: 'apps.web', members: [] },
    ]);
    expect((await token('ssn-1')).status).toBe(200);
    expect((await apply(less, { prune: true })).counts).toEqual(counts(0, 0, 32, 3));
    const found = await Promise.all(['ssn-1', 'cards-30', 'cards-29', 'cards-x', 'other'].map(token));
    expect(found.map(({ status }) => status)).toEqual([404, 404, 200, 200, 200]);
    expect(await appNames()).toEqual([...SEEDED_APPS, 'The reader', 'seed: other'].sort());
    expect((await apply(less, { prune: true })).counts).toEqual(counts(0, 0, 32));
  });

  it('never touches a token that it did not make', async () => {
    await world.call(reader, 'createToken', { body: { id: 'visa', type: 'token', data: 'mine' } });
    await expect(apply(SEED)).rejects.toMatchObject({
      code: 'token_id_taken',
      detail: 's.yaml:11: tokens.visa: a token with the id visa exists, and this seed did not create it.',
    });
    expect((await token('visa')).at('data')).toBe('mine');
    expect(await appNames()).toEqual(SEEDED_APPS);
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
    expect((await apply(SEED)).counts).toEqual(counts(32, 0, 3));
    expect(await appNames()).toEqual([...SEEDED_APPS, 'The reader', 'web'].sort());
    expect((await apply(SEED)).counts).toEqual(counts(0, 0, 35));
  });

  it('refuses a duplicate where the tenant deduplicates, and a change of type', async () => {
    const twice = `tenant: { settings: { deduplicate_tokens: "true" } }
tokens: { one: { type: token, data: x }, two: { type: token, data: x } }`;
    await expect(apply(twice)).rejects.toThrow('has the same content');
    await apply(
      'apps: { a: { type: public, permissions: [token:create] } }\ntokens: { tok: { type: token, data: y } }',
    );
    await expect(apply('apps: { a: { type: private, permissions: [token:read] } }')).rejects.toThrow(
      'the type of an application cannot change',
    );
    await expect(apply('tokens: { tok: { type: social_security_number, data: 123-45-6789 } }')).rejects.toThrow(
      's.yaml:1: tokens.tok.type: the type of a token cannot change',
    );
  });

  it('rejects a null that a patch cannot set', async () => {
    await apply('tokens: { one: { type: token, data: { a: 1 } } }');
    await expect(apply('tokens: { one: { type: token, data: { a: null } } }')).rejects.toThrow(
      'set null inside an object',
    );
  });

  it('takes over an application whose id a killed apply could not record', async () => {
    const client: Client = {
      ...world.client,
      call: async (call) => {
        const reply = await world.client.call(call);
        if (call.operation === 'createApplication' && call.bodyText?.includes('The reader')) throw new Error('killed');
        return reply;
      },
    };
    await expect(apply(SEED, {}, client)).rejects.toThrow('killed');
    await apply(SEED);
    expect(await appNames()).toEqual([...SEEDED_APPS, 'The reader', 'web'].sort());
  });

  it('is completed by the next apply after a kill between any two calls', async () => {
    let at = 0;
    for (let ended = false; !ended; at++) {
      await openWorld();
      const killed = interrupted(at, kill);
      await apply(SEED, {}, killed).catch(() => undefined);
      ended = !killed.reached();
      const { created, changed, unchanged } = (await apply(SEED)).counts;
      expect(created + changed + unchanged).toBe(35);
      await expectWhole();
    }
    expect(at).toBeGreaterThan(15);
  });

  it('leaves the old or the new state after a kill between any two calls of a change', async () => {
    const before = `
apps: { web: { type: public, permissions: [token:create] } }
tokens:
  one: { type: token, data: { a: 1, b: 2 }, mask: { a: x }, metadata: { m: "1" } }
  two: { type: token, data: x }
  pin: { type: token, data: "1234", search_indexes: ["{{ data }}"] }
`;
    const after = before
      .replace('[token:create]', '[token:update]')
      .replace('mask: { a: x }', 'mask: { b: y }')
      .replace('data: x', 'data: y')
      .replace('search_indexes: ["{{ data }}"]', 'fingerprint_expression: "{{ data | last4 }}"');
    const state = async () => {
      const tokens = [];
      for (const id of ['one', 'two', 'pin']) {
        const shown = await world.call(reader, 'updateToken', { id, body: {} });
        tokens.push(['data', 'mask', 'search_indexes', 'fingerprint_expression'].map((name) => shown.at(name)));
      }
      return tokens;
    };
    const made = async (text: string) => {
      expect((await apply(text)).counts.created).toBe(0);
      expect((await apply(text)).counts).toEqual(counts(0, 0, 4));
      return state();
    };
    const fresh = async (text: string) => {
      await openWorld();
      await apply(text);
      return state();
    };
    const [first, second] = [await fresh(before), await fresh(after)];
    let at = 0;
    for (let ended = false; !ended; at++) {
      for (const [text, expected] of [[before, first] as const, [after, second] as const]) {
        await fresh(before);
        const killed = interrupted(at, kill);
        await apply(after, {}, killed).catch(() => undefined);
        ended = !killed.reached();
        expect(await made(text)).toEqual(expected);
      }
    }
    expect(at).toBeGreaterThan(12);
  });

  it.each([
    ['whose seed has tokens', SEED, [35, 8]],
    ['whose seed has no tokens', SEED.split('\ntokens:')[0] ?? '', [3, 5]],
  ] as const)('ends when another apply takes over between any two calls, %s', async (_, text, [items, most]) => {
    let [at, lost] = [0, 0];
    for (let ended = false; !ended; at++) {
      await openWorld();
      const first = interrupted(at, () => apply(text));
      const outcome = await apply(text, {}, first).catch((error: unknown) => error);
      ended = !first.reached();
      if (outcome instanceof Error) {
        lost += 1;
        const message = 'another apply of this seed is running';
        expect(outcome).toMatchObject({
          code: 'conflict',
          message,
          hint: expect.stringMatching(/^apply the seed again when/),
        });
      }
      await apply(text);
      expect((await apply(text)).counts).toEqual(counts(0, 0, items));
      expect(await appNames()).toEqual([...SEEDED_APPS, 'The reader', 'web'].sort());
    }
    expect(lost).toBeGreaterThan(most);
  });

  it.each([
    ['the first ones', ''],
    ['later ones', 'seed: shop'],
  ])('fails when another apply runs at the same time (%s), and creates nothing twice', async (_, before) => {
    if (before !== '') await apply(before);
    // Both then start together: no call waits for a turn while the other apply ends.
    vi.spyOn(process, 'uptime').mockReturnValue(process.uptime());
    const documents = [await documentOf(SEED), await documentOf(SEED)];
    const both = await Promise.allSettled(
      documents.map((document) => applySeed(world.client, world.management, document, {})),
    );
    expect(both.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(both.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { code: 'conflict', message: 'another apply of this seed is running' },
    });
    await expectWhole();
  });

  it.each([
    ['its own application, and continues', undefined, counts(30, 0, 5)],
    ['another application, and fails', 'this seed did not create it', undefined],
  ])('looks again when a token was made after its plan by %s', async (_, refusal, expected) => {
    // Simulate the last call of an apply that lost its key: it was running when the next apply looked.
    let isFirst = true;
    const client: Client = {
      ...world.client,
      call: async (call) => {
        if (call.operation === 'tokenize' && isFirst) {
          isFirst = false;
          const data = JSON.parse(call.bodyText ?? '').data.slice(0, 2);
          const made = await world.call(refusal ? reader : call.apiKey, 'tokenize', { body: data });
          expect(made.status).toBe(201);
        }
        return world.client.call(call);
      },
    };
    const applied = apply(SEED, {}, client);
    if (refusal !== undefined) await expect(applied).rejects.toThrow(refusal);
    else expect((await applied).counts).toEqual(expected);
    if (refusal === undefined) await expectWhole();
  });

  it('finds taken ids in a dry run before the first apply, and leaves nothing', async () => {
    const made: string[] = [];
    const client: Client = {
      ...world.client,
      call: (call) => {
        if (call.operation === 'createApplication') made.push(call.bodyText ?? '');
        return world.client.call(call);
      },
    };
    expect((await apply(SEED, { dryRun: true }, client)).counts).toEqual(counts(34, 1, 0));
    await world.call(reader, 'createToken', { body: { id: 'visa', type: 'token', data: 'mine' } });
    await expect(apply(SEED, { dryRun: true }, client)).rejects.toMatchObject({ code: 'token_id_taken' });
    expect(await appNames()).toEqual(OWN_APPS);
    for (const text of made) {
      expect(JSON.parse(text)).toMatchObject({ type: 'expiring', rules: [{ transform: 'redact' }] });
    }
    expect(made).toHaveLength(2);
  });

  it('leaves an application of its name alone that it did not make', async () => {
    const key = await world.application({ name: 'seed: shop', type: 'private', permissions: ['token:read'] });
    await apply(SEED);
    expect((await world.call(key, 'getToken', { id: 'visa' })).status).toBe(200);
  });

  it('creates an application again after --prune removed it', async () => {
    const text = 'apps: { web: { type: public, permissions: [token:create] } }';
    for (let turn = 0; turn < 2; turn++) {
      expect((await apply(text)).counts).toEqual(counts(1, 0, 0));
      expect((await apply('apps: {}', { prune: true })).counts).toEqual(counts(0, 0, 0, 1));
    }
  });

  it('creates tokens in batches, and reports the errors of a batch', async () => {
    const operations: string[] = [];
    const client: Client = {
      ...world.client,
      call: (call) => {
        operations.push(call.operation);
        return world.client.call(call);
      },
    };
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
    expect(operations.filter((name) => name === 'tokenize')).toHaveLength(3);
    expect(operations).not.toContain('createToken');
    const statuses = await Promise.all(
      ['cards-1', 'cards-400', 'cards-401'].map(async (id) => (await token(id)).status),
    );
    expect(statuses).toEqual([200, 200, 404]);
    expect((await apply(text.replace(/ {2}bad.*\n/g, ''))).counts).toEqual(counts(50, 0, 400));
  });

  it('rejects more tokens than its application can record before it creates any', async () => {
    const items = Array.from({ length: 2_200 }, (_, at) => `  tok-${at}: { type: token, data: x, mask: y }`);
    await expect(apply(`tokens:\n${items.join('\n')}`)).rejects.toMatchObject({
      code: 'invalid_data',
      hint: 'split the seed into several seeds (`seed:`)',
    });
    expect(await total()).toBe(0);
  });

  it('rejects another --seed than that of the first apply', async () => {
    const withNumber = async (number: number) => {
      const document = await createSeedDocument([await readSeedFile('s.yaml', SEED)], {}, number);
      return seedSummary(await applySeed(world.client, world.management, document, {}), false);
    };
    await withNumber(7);
    await expect(withNumber(0)).rejects.toThrow('was applied with --seed 7, not with --seed 0');
    expect(await withNumber(7)).toMatchObject({ changed: 0, unchanged: 35 });
  });

  it('rejects new applications when their keys cannot be fixed', async () => {
    await expect(apply(SEED, { noNewApps: true })).rejects.toThrow('random ids and keys (web, reader)');
    expect(await appNames()).toEqual(SEEDED_APPS);
    await apply(SEED);
    expect((await apply(SEED, { noNewApps: true })).counts).toEqual(counts(0, 0, 35));
  });
});

it('variables are named after their items; generated tokens have an id and a count', () => {
  const ids = {
    apps: { 'my-web': { id: 'i', key: 'k' }, old: { id: 'o' } },
    tokens: { visa: 'v', cards: ['c-1', 'c-2'] },
  };
  expect([...seededVariables(ids)].map((entry) => entry.join('='))).toEqual([
    'APP_MY_WEB_ID=i',
    'APP_MY_WEB_KEY=k',
    'APP_OLD_ID=o',
    'TOKEN_VISA=v',
    'TOKEN_CARDS=c',
    'TOKEN_CARDS_COUNT=2',
  ]);
});
