import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Store, TokenRecord } from '../../src/core/ports.ts';
import type { SqlClient } from '../../src/store/postgres/sql-client.ts';
import {
  addTenant,
  entry,
  everything,
  FIRST_PAGE,
  indexes,
  NOW,
  nextId,
  tokenRecord,
  tombstoneOf,
} from '../conformance/store-fixtures.ts';
import { createDatabase } from './create-database.ts';
import { openClient } from './open-client.ts';
import { openTwoStores } from './open-twice.ts';

// Changes of tokens that wait together share a statement. It skips the tokens that it refuses.

let url: string;
let stores: readonly [Store, Store];
beforeAll(async () => {
  url = await createDatabase();
  stores = await openTwoStores(url);
});
afterAll(() => Promise.all(stores.map((store) => store.close())));

const createAll = (tokens: readonly TokenRecord[], [store] = stores) =>
  Promise.all(
    tokens.map(async (token) => {
      const options = { deduplicate: false, now: NOW };
      return store
        .insertToken(token, indexes(token.id, '/a/', 'other', token.id), options, entry(token.id))
        .then(({ outcome }) => outcome)
        .catch((error: { readonly code: string }) => error.code);
    }),
  );

/** Resolves to the ids of a tenant's tokens, a list for each statement that changed them last. */
const statementsOf = async ({ run }: SqlClient, tenantId: string) => {
  const text = `SELECT array_agg(t.id ORDER BY t.token) FROM vault.token t JOIN vault.tenant n USING (tenant) WHERE n.id = $1
    GROUP BY t.xmin::text, t.cmin::text ORDER BY min(t.token)`;
  return (await run({ text }, [tenantId])).flat();
};

/** Resolves to the number of entries that follow no other entry. */
const gaps = async ({ run }: SqlClient) => {
  const text = `SELECT count(*) FROM vault.audit a WHERE sequence > 0 AND NOT EXISTS
    (SELECT 1 FROM vault.audit b WHERE b.sequence = a.sequence - 1)`;
  return (await run({ text })).flat();
};

/** Parameters: id, tenant id. Inserts a token without index entries. */
const INSERT = {
  text: `INSERT INTO vault.token (tenant, id, type, created_at, revision, key_id, index_key_id, active_month, blinds,
    clear, presented, revealed) SELECT tenant, $1, 1, 0, 1, 1, 2, 0, '{}', '', '', '' FROM vault.tenant WHERE id = $2`,
};
const COUNT_WAITING = {
  text: `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
};

const ids = (count: number) => Array.from({ length: count }, () => nextId());

describe('creates that wait together', () => {
  const of = (tenantId: string, names: readonly string[]) => names.map((id) => tokenRecord(tenantId, { id }));

  it('share a statement, at most 64 of them', async () => {
    const { id: tenantId } = await addTenant(stores[0]);
    const names = ids(100);
    expect(new Set(await createAll(of(tenantId, names)))).toEqual(new Set(['inserted']));
    const client = await openClient(url);
    expect(await statementsOf(client, tenantId)).toEqual([names.slice(0, 64), names.slice(64)]);
    expect(await gaps(client)).toEqual([0]);
    expect((await stores[1].findTokens(everything(tenantId), FIRST_PAGE, NOW)).total).toBe(100);
    expect(await stores[0].inspect()).toEqual([]);
  });

  it('share no statement when they are large', async () => {
    const { id: tenantId } = await addTenant(stores[0]);
    const names = ids(5);
    const tokens = of(tenantId, names).map((token, at) => ({
      ...token,
      full: new Uint8Array(at < 3 ? 100_000 : 300_000),
    }));
    expect(new Set(await createAll(tokens))).toEqual(new Set(['inserted']));
    const found = await statementsOf(await openClient(url), tenantId);
    expect(found).toEqual([names.slice(0, 2), ...names.slice(2).map((name) => [name])]);
    expect(await stores[0].inspect()).toEqual([]);
  });

  it('share no statement when they have many index entries', async () => {
    const { id: tenantId } = await addTenant(stores[0]);
    const names = ids(5);
    const values = Array.from({ length: 2000 }, (_, n) => `value ${n}`);
    const options = { deduplicate: false, now: NOW };
    const made = of(tenantId, names).map((token) =>
      stores[0].insertToken(token, indexes(token.id, ...values), options, entry(token.id)),
    );
    await Promise.all(made);
    const found = await statementsOf(await openClient(url), tenantId);
    expect(found).toEqual([names.slice(0, 3), names.slice(3)]);
  });

  it('share one for each tenant', async () => {
    const tenants = [await addTenant(stores[0]), await addTenant(stores[0])];
    const names = ids(6);
    const tokens = names.map((id, at) => tokenRecord(tenants[at % 2]?.id ?? '', { id }));
    expect(new Set(await createAll(tokens))).toEqual(new Set(['inserted']));
    const client = await openClient(url);
    for (const [at, { id }] of tenants.entries()) {
      expect(await statementsOf(client, id)).toEqual([names.filter((_, of) => of % 2 === at)]);
    }
    expect(await stores[0].inspect()).toEqual([]);
  });

  it.each<[string, number]>([
    ['first', 0],
    ['in the middle', 2],
    ['last', 4],
  ])('are made, except the one whose id is taken, which is %s', async (_, at) => {
    const { id: tenantId } = await addTenant(stores[0]);
    const names = ids(5);
    await createAll(of(tenantId, names.slice(at, at + 1)), [stores[1], stores[0]]);
    const outcomes = await createAll(of(tenantId, names));
    expect(outcomes).toEqual(names.map((__, each) => (each === at ? 'id_taken' : 'inserted')));
    expect(await gaps(await openClient(url))).toEqual([0]);
    expect((await stores[0].findTokens(everything(tenantId), FIRST_PAGE, NOW)).total).toBe(5);
    expect(await stores[0].inspect()).toEqual([]);
  });

  it('give an id to the first that asks for it', async () => {
    const { id: tenantId } = await addTenant(stores[0]);
    const [a = '', b = '', c = ''] = ids(3);
    const outcomes = await createAll(of(tenantId, [a, b, a, c, a, 'text', 'text']));
    expect(outcomes).toEqual(['inserted', 'inserted', 'id_taken', 'inserted', 'id_taken', 'inserted', 'id_taken']);
    expect(await gaps(await openClient(url))).toEqual([0]);
    expect(await stores[0].inspect()).toEqual([]);
  });

  it('are refused under keys that are not the newest', async () => {
    const { id: tenantId } = await addTenant(stores[0]);
    const older = of(tenantId, ids(3)).map((token) => ({ ...token, key_id: 7 }));
    const outcomes = await createAll([...older, ...of(tenantId, ids(3))]);
    expect(outcomes).toEqual([...older.map(() => 'write_conflict'), 'inserted', 'inserted', 'inserted']);
    expect(await stores[0].inspect()).toEqual([]);
  });

  it.each<[string, (tokens: readonly TokenRecord[]) => Promise<unknown>, unknown]>([
    ['single', createAll, ['inserted', 'inserted', 'id_taken', 'inserted']],
    [
      'in a list',
      (tokens) => {
        const members = tokens.map((token) => ({ token, indexes: indexes(token.id), deduplicate: false }));
        return stores[0].insertTokens(members, NOW, entry('list'));
      },
      [{ at: 2, duplicate: undefined }],
    ],
  ])('run again when another process inserts one of the ids meanwhile: %s', async (_, create, expected) => {
    const { id: tenantId } = await addTenant(stores[0]);
    const names = ids(4);
    const other = await openClient(url);
    await other.run({ text: 'BEGIN' });
    await other.run(INSERT, [names[2] ?? '', tenantId]);
    const outcomes = create(of(tenantId, names));
    await expect.poll(() => other.run(COUNT_WAITING)).toEqual([[1]]);
    await other.commit();
    expect(await outcomes).toEqual(expected);
    expect(await gaps(other)).toEqual([0]);
    await other.run({ text: 'DELETE FROM vault.token WHERE id = $1' }, [names[2] ?? '']);
    expect(await stores[0].inspect()).toEqual([]);
  });
});

type Change = (token: TokenRecord, store?: Store) => Promise<boolean>;

const patch: Change = (token, store = stores[0]) => {
  const next = { ...token, revision: token.revision + 1 };
  const given = indexes(`${token.id} patched`, '/b/', 'other');
  return store.replaceToken(next, given, { revision: token.revision, now: NOW }, entry(token.id));
};
const remove: Change = (token, store = stores[0]) =>
  store.deleteToken(tombstoneOf(token), token.revision, entry(token.id));

describe.each([
  ['patches', patch],
  ['removals', remove],
])('%s that wait together', (_, change) => {
  const changeAll = (tokens: readonly TokenRecord[]) => Promise.all(tokens.map((token) => change(token)));

  async function stored(count: number, parts: Partial<TokenRecord> = {}) {
    const { id: tenantId } = await addTenant(stores[0]);
    const tokens = ids(count).map((id) => tokenRecord(tenantId, { id, ...parts }));
    await createAll(tokens);
    return { tenantId, tokens };
  }

  /** Checks that the entries follow each other and that the tables agree. */
  async function expectWhole() {
    expect(await gaps(await openClient(url))).toEqual([0]);
    expect(await stores[0].inspect()).toEqual([]);
  }

  it('share a statement', async () => {
    const { tenantId, tokens } = await stored(40);
    expect(new Set(await changeAll(tokens))).toEqual(new Set([true]));
    const client = await openClient(url);
    expect(await statementsOf(client, tenantId)).toEqual([tokens.map(({ id }) => id)]);
    await expectWhole();
  });

  it.each([0, 2, 4])('change all but number %s, which has another revision', async (at) => {
    const { tenantId, tokens } = await stored(5);
    const asked = tokens.map((token, each) => (each === at ? { ...token, revision: 7 } : token));
    expect(await changeAll(asked)).toEqual(tokens.map((__, each) => each !== at));
    const left = await stores[1].findToken(tenantId, tokens[at]?.id ?? '', NOW);
    expect(left?.revision).toBe(1);
    await expectWhole();
  });

  it('change a token once', async () => {
    const { tokens } = await stored(3);
    const [a, b, c] = tokens as [TokenRecord, TokenRecord, TokenRecord];
    expect(await changeAll([a, b, a, c, b])).toEqual([true, true, false, true, false]);
    await expectWhole();
  });

  it('find no token that the store cannot hold, and no tenant', async () => {
    const { tokens } = await stored(2);
    const [a, b] = tokens as [TokenRecord, TokenRecord];
    const others = [
      { ...a, id: 'nul \0' },
      { ...a, tenant_id: nextId() },
      { ...a, tenant_id: 'none' },
    ];
    expect(await changeAll([...others, a, b])).toEqual([false, false, false, true, true]);
    await expectWhole();
  });
});

it('patches that wait together are refused under keys that are not the newest, and after the expiry', async () => {
  const { id: tenantId } = await addTenant(stores[0]);
  const tokens = ids(4).map((id) => tokenRecord(tenantId, { id }));
  const expired = tokenRecord(tenantId, { id: nextId(), expires_at: NOW });
  await createAll([...tokens, expired]);
  const [a, b, c, d] = tokens as [TokenRecord, TokenRecord, TokenRecord, TokenRecord];
  const asked = [{ ...a, key_id: 7 }, { ...b, key_id: 7 }, c, expired, d];
  const outcomes = asked.map((token) => patch(token).catch((error: { readonly code: string }) => error.code));
  expect(await Promise.all(outcomes)).toEqual(['write_conflict', 'write_conflict', true, false, true]);
  expect(await stores[0].inspect()).toEqual([]);
});
