import { hostname } from 'node:os';
import { beforeEach, describe, expect, it } from 'vitest';
import { type ApplyOptions, applySeed } from '../../src/cli/commands/seed/apply-seed.ts';
import { readSeedFile } from '../../src/cli/commands/seed/read-seed-file.ts';
import { createSeedDocument } from '../../src/cli/commands/seed/seed-document.ts';
import { seededIds, seededVariables, seedSummary } from '../../src/cli/commands/seed/seed-output.ts';
import { ownMachine } from '../../src/cli/own-machine.ts';
import type { Client } from '../../src/contract/call.ts';
import { type MemoryVault, openMemoryVault } from '../memory-store/memory-vault.ts';

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

let world: MemoryVault;
let reader = '';
beforeEach(async () => {
  world = await openMemoryVault();
  const rules = [{ description: 'all', priority: 1, container: '/', transform: 'reveal', permissions: EVERYTHING }];
  reader = await world.application({ name: 'reader of the test', type: 'private', rules });
});

const EVERYTHING = ['token:create', 'token:read', 'token:update', 'token:delete'];

async function apply(text: string, options: ApplyOptions = {}, client: Client = world.client) {
  const document = await createSeedDocument([await readSeedFile('s.yaml', text)], {}, 0);
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
const claims = async () => {
  const listed = JSON.parse((await world.call(reader, 'listTokens', { query: 'size=100' })).text);
  return listed.data.filter((one: { readonly id: string }) => one.id.startsWith('vault-seed.'));
};
const OWN_APPS = ['management', 'reader of the test'];
/** With the one that keeps the digest of what the seed made. */
const SEEDED_APPS = [...OWN_APPS, 'vault seed: shop'];

describe('applySeed', () => {
  it('makes what the file says, and then changes nothing', async () => {
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
  });

  it('changes what the file says otherwise, what no read shows included, and names it', async () => {
    await apply(SEED);
    const changed = SEED.replace('name: The reader', 'name: Another')
      .replace('cvc: "123" }', 'expiration_month: 12 }, mask: { last: "{{ data.number | last4 }}" }, containers: [/x/]')
      .replace(`metadata: { app: "\${apps.web.id}" }`, 'metadata: { b: x }')
      .replace('data: 123-45-6789', 'data: 123-45-6789, search_indexes: ["{{ data }}"]');
    const planned = await apply(changed, { dryRun: true });
    expect(planned.plan).toEqual([
      { action: 'change', item: 'apps.reader', members: ['name', 'rules'] },
      { action: 'change', item: 'tokens.visa', members: ['data', 'mask', 'containers', 'metadata'] },
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
    // And back: what is left out takes the default of the type.
    expect((await apply(SEED)).counts).toEqual(counts(0, 3, 32));
    expect((await world.call(masking, 'getToken', { id: 'visa' })).at('data.number')).toBe('XXXXXXXXXXXX4242');
    expect((await apply(SEED)).counts).toEqual(counts(0, 0, 35));
  });

  it('takes back what somebody else changed or removed', async () => {
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

  it('says of a generated token that was pruned why it cannot come back', async () => {
    await apply(SEED);
    await apply(SEED.replace('count: 30', 'count: 29'), { prune: true });
    await expect(apply(SEED)).rejects.toMatchObject({
      code: 'conflict',
      message: 's.yaml:13: tokens.cards: the token cards-30 was deleted or has expired, and its id stays taken',
      hint: expect.stringContaining('give the item another name (its ids are NAME-1, NAME-2, …)'),
    });
  });

  it('removes with --prune what it made, and nothing else', async () => {
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
      { action: 'remove', item: 'tokens.ssn-1', members: [] },
      { action: 'remove', item: 'tokens.cards-30', members: [] },
      { action: 'remove', item: 'apps.web', members: [] },
    ]);
    expect((await token('ssn-1')).status).toBe(200);
    expect((await apply(less, { prune: true })).counts).toEqual(counts(0, 0, 32, 3));
    const found = await Promise.all(['ssn-1', 'cards-30', 'cards-29', 'cards-x', 'other'].map(token));
    expect(found.map(({ status }) => status)).toEqual([404, 404, 200, 200, 200]);
    expect(await appNames()).toEqual([...SEEDED_APPS, 'The reader', 'vault seed: other'].sort());
    expect((await apply(less, { prune: true })).counts).toEqual(counts(0, 0, 32));
  });

  it('never touches a token that it did not make', async () => {
    await world.call(reader, 'createToken', { body: { id: 'visa', type: 'token', data: 'mine' } });
    await expect(apply(SEED)).rejects.toMatchObject({
      code: 'token_id_taken',
      detail: 's.yaml:11: tokens.visa: a token with the id visa exists, and this seed did not make it.',
    });
    expect((await token('visa')).at('data')).toBe('mine');
    expect(await appNames()).toEqual(OWN_APPS);
  });

  it('tells all that the vault refuses with file, line and member, and can go on afterwards', async () => {
    // Nothing is wrong with them but what the vault finds when it evaluates them, and by its clock.
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
      hint: expect.stringMatching(/^the rest is made; the keys of web \(.*\), reader \(.*\) are not shown again: /),
    });
    expect((await token('cards-30')).status).toBe(200);
    const after = await apply(SEED);
    expect(after.counts.created + after.counts.changed + after.counts.unchanged).toBe(35);
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
    await expect(apply('apps: { a: { type: private, permissions: [token:read] } }')).rejects.toThrow('keeps its type');
    await expect(apply('tokens: { tok: { type: social_security_number, data: 123-45-6789 } }')).rejects.toThrow(
      's.yaml:1: tokens.tok.type: a token keeps its type',
    );
  });

  it('refuses a null that a patch cannot set', async () => {
    await apply('tokens: { one: { type: token, data: { a: 1 } } }');
    await expect(apply('tokens: { one: { type: token, data: { a: null } } }')).rejects.toThrow(
      'a null inside an object',
    );
  });

  it('leaves no application of its own behind, whatever ends it', async () => {
    const stop = new AbortController();
    let left = 12;
    const client: Client = {
      ...world.client,
      call: (call) => {
        left -= 1;
        if (left === 0) stop.abort();
        return world.client.call(call);
      },
    };
    await expect(apply(SEED, { signal: stop.signal }, client)).rejects.toMatchObject({ name: 'AbortError' });
    expect((await appNames()).filter((name: string) => name.includes('temporary'))).toEqual([]);
    expect((await apply(SEED)).counts.created).toBeGreaterThan(0);
    expect((await apply(SEED)).counts).toEqual(counts(0, 0, 35));
  });

  it('is for one at a time: the other is told so, and nothing is there twice', async () => {
    const both = await Promise.allSettled([apply(SEED), apply(SEED)]);
    const refused = both.filter((one) => one.status === 'rejected');
    expect(both.filter((one) => one.status === 'fulfilled')).toHaveLength(1);
    expect(refused[0]?.reason).toMatchObject({
      code: 'conflict',
      message: `another apply of the seed shop is under way: process ${process.pid} on ${hostname()}`,
    });
    expect(await appNames()).toEqual([...SEEDED_APPS, 'The reader', 'web'].sort());
    expect((await apply(SEED)).counts).toEqual(counts(0, 0, 35));
    expect((await claims()).length).toBe(0);
  });

  it('does not wait for an apply that was killed, and does for one of another machine', async () => {
    const claim = (number: number, holder: object) =>
      world.call(reader, 'createToken', {
        body: {
          id: `vault-seed.shop.${number}`,
          type: 'token',
          containers: ['/vault-seed/'],
          data: { pid: process.pid, host: ownMachine(), process: 'another', since: Date.now(), ...holder },
        },
      });
    await claim(1, {});
    expect((await apply(SEED)).counts).toEqual(counts(34, 1, 0));
    // The first was removed; the apply had the second.
    await claim(3, { host: 'elsewhere.test' });
    const more = SEED.replace('count: 30', 'count: 31');
    await expect(apply(more)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('on elsewhere.test'),
      hint: expect.stringContaining('vault tokens delete vault-seed.shop.3'),
    });
    expect((await token('cards-31')).status).toBe(404);
    await world.call(reader, 'deleteToken', { id: 'vault-seed.shop.3' });
    // Of a container with the same name, in which the number is another process's.
    await claim(4, { pid: 4_194_305, host: `${hostname()}\npid:[1]` });
    await expect(apply(more)).rejects.toMatchObject({ message: expect.stringContaining(`on ${hostname()}`) });
    await world.call(reader, 'deleteToken', { id: 'vault-seed.shop.4' });
    await claim(5, { host: 'elsewhere.test', since: Date.now() - 11 * 60 * 1000 });
    expect((await apply(more)).counts).toEqual(counts(1, 0, 35));
    expect(await claims()).toEqual([]);
  });

  it('cannot be kept from its work by tokens that look like claims', async () => {
    const plant = (number: number, since: number, container = '/vault-seed/') =>
      world.call(reader, 'createToken', {
        body: {
          id: `vault-seed.shop.${number}`,
          type: 'token',
          containers: [container],
          data: { pid: 1, host: 'elsewhere.test', process: 'another', since },
        },
      });
    // Never old, and where no claim stands.
    await plant(1, Date.now() + 365 * 24 * 60 * 60 * 1000);
    await plant(2, Date.now(), '/general/high/');
    expect((await apply(SEED)).counts).toEqual(counts(34, 1, 0));
    // The one that looked old is removed; the one elsewhere is somebody's token.
    expect((await claims()).map(({ id }: { readonly id: string }) => id)).toEqual(['vault-seed.shop.2']);
    // The apply had the third. As many as are passed over, and one more.
    const numbers = Array.from({ length: 101 }, (_, index) => index + 4);
    for (const number of numbers) await plant(number, 0, '/general/high/');
    const more = SEED.replace('count: 30', 'count: 31');
    await expect(apply(more)).rejects.toMatchObject({
      code: 'conflict',
      message: 'more than 100 tokens of others have ids that applies of the seed shop need',
      hint: expect.stringContaining('delete the tokens vault-seed.shop.NUMBER'),
    });
    // The ids stay taken, and are in nobody's way.
    for (const number of numbers) await world.call(reader, 'deleteToken', { id: `vault-seed.shop.${number}` });
    expect((await apply(more)).counts).toEqual(counts(1, 0, 35));
  });

  it('leaves one record among the tokens, and none of its claims; an apply that changes nothing takes none', async () => {
    const total = async () => (await world.call(reader, 'listTokens')).at('pagination.total_items');
    await apply(SEED);
    expect(await total()).toBe(33);
    await apply(SEED);
    expect(await total()).toBe(33);
    const usage = await world.call(world.management, 'getUsageReport');
    // The record, and what the first apply held while it was at work.
    expect(usage.at('token_report.monthly_active_tokens')).toBe(34);
    await world.call(reader, 'createToken', { body: { id: 'vault-seed.shop.2', type: 'token', data: 'mine' } });
    await apply(SEED.replace('count: 30', 'count: 31'));
    expect((await token('vault-seed.shop.2')).at('data')).toBe('mine');
  });

  it('removes what a killed apply worked as, an hour later', async () => {
    const name = 'vault seed apply (temporary)';
    const leave = () => world.application({ name, type: 'private', permissions: ['token:read'] });
    world.clock.set(Date.now() - 2 * 60 * 60 * 1000);
    await leave();
    await world.application({ name, type: 'public', permissions: ['token:create'] });
    world.clock.set(Date.now());
    await leave();
    await apply('tokens: {}');
    const { text } = await world.call(world.management, 'listApplications');
    const left = JSON.parse(text).data.filter((app: { readonly name: string }) => app.name === name);
    expect(left.map((app: { readonly type: string }) => app.type)).toEqual(['private', 'public']);
  });

  it('takes over the application of an apply that was killed before it could note its id', async () => {
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

  it('does not take what is not in its place for its record', async () => {
    await apply(SEED);
    const forged = {
      type: 'token',
      data: '{"apps":{},"tokens":{"victim":["","",""]}}',
      metadata: { 'vault-seed': 'shop' },
    };
    await world.call(reader, 'createToken', { body: forged });
    await world.call(reader, 'createToken', { body: { id: 'victim', type: 'token', data: 1 } });
    expect((await apply(SEED, { prune: true })).counts).toEqual(counts(0, 0, 35));
    expect((await token('victim')).status).toBe(200);
  });

  it('takes nothing for its record that no management key has written', async () => {
    await world.call(reader, 'createToken', { body: { id: 'victim', type: 'token', data: 1 } });
    const data = '{"apps":{"web":["00000000-0000-4000-8000-000000000000","x","x"]},"tokens":{"victim":["","",""]}}';
    const forged = { type: 'token', data, metadata: { 'vault-seed': 'shop' }, containers: ['/vault-seed/'] };
    await world.call(reader, 'createToken', { body: forged });
    // Before the first apply, and beside the record of one.
    for (const expected of [counts(34, 1, 0), counts(0, 0, 35)]) {
      expect((await apply(SEED, { prune: true })).counts).toEqual(expected);
      expect((await token('victim')).status).toBe(200);
    }
    // The record itself, rewritten by whoever may change tokens there: what the seed made is then no longer its own.
    const { body } = await world.call(reader, 'listTokens', { query: 'metadata.vault-seed=shop' }).then((listed) => {
      return { body: JSON.parse(listed.text) as { readonly data: readonly { readonly id: string }[] } };
    });
    for (const { id } of body.data) await world.call(reader, 'updateToken', { id, body: { data } });
    await expect(apply(SEED, { prune: true })).rejects.toThrow('this seed did not make it');
    expect((await token('victim')).status).toBe(200);
  });

  it('does not make all generated data anew for a number that was left out', async () => {
    const withNumber = async (number: number) => {
      const document = await createSeedDocument([await readSeedFile('s.yaml', SEED)], {}, number);
      return seedSummary(await applySeed(world.client, world.management, document, {}), false);
    };
    await withNumber(7);
    await expect(withNumber(0)).rejects.toThrow('is that of --seed 7, and not of 0');
    expect(await withNumber(7)).toMatchObject({ changed: 0, unchanged: 35 });
  });

  it('refuses new applications where their keys cannot be fixed', async () => {
    await expect(apply(SEED, { noNewApps: true })).rejects.toThrow('random ids and keys (web, reader)');
    expect(await appNames()).toEqual(OWN_APPS);
    await apply(SEED);
    expect((await apply(SEED, { noNewApps: true })).counts).toEqual(counts(0, 0, 35));
  });
});

it('variables are named for the items; of generated tokens there are two', () => {
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
