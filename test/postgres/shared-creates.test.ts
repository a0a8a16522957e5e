import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Store, TokenRecord } from '../../src/core/ports.ts';
import type { SqlClient } from '../../src/store/postgres/sql-client.ts';
import {
  addTenant,
  CHAIN_RECORDER,
  entry,
  everything,
  FIRST_PAGE,
  HEADER,
  indexes,
  NOW,
  nextId,
  tokenRecord,
} from '../conformance/store-fixtures.ts';
import { createDatabase } from './create-database.ts';
import { openClient } from './open-client.ts';
import { openTwice } from './open-twice.ts';

// Creates that wait together share a statement, which inserts the tokens before the first one whose id is taken.

let url: string;
let stores: readonly [Store, Store];
beforeAll(async () => {
  url = await createDatabase();
  const options = { insecure: true, writesOnRoot: 0 };
  stores = await openTwice(`${url}?sslmode=disable`, HEADER, async () => undefined, options);
  for (const store of stores) store.useChainRecorder(CHAIN_RECORDER);
});
afterAll(() => Promise.all(stores.map((store) => store.close())));

const createAll = (tokens: readonly TokenRecord[], [store] = stores) =>
  Promise.all(
    tokens.map(async (token) => {
      const options = { deduplicate: false, now: NOW };
      return store
        .insertToken(token, indexes(token.id), options, entry(token.id))
        .then(({ outcome }) => outcome)
        .catch((error: { readonly code: string }) => error.code);
    }),
  );

/** Resolves to the ids of a tenant's tokens, a list for each statement that inserted them. */
const statementsOf = async ({ run }: SqlClient, tenantId: string) => {
  const text = `SELECT array_agg(t.id ORDER BY t.token) FROM vault.token t JOIN vault.tenant n USING (tenant) WHERE n.id = $1
    GROUP BY t.xmin::text, t.cmin::text ORDER BY min(t.token)`;
  return (await run({ text }, [tenantId])).flat();
};

/** Resolves to the number of entries that follow no other entry. */
const gaps = async ({ run }: SqlClient) => {
  const text = `SELECT count(*) FROM vault.audit a WHERE sequence > 0 AND NOT EXISTS
    (SELECT 1 FROM vault.audit b WHERE b.chain = a.chain AND b.sequence = a.sequence - 1)`;
  return (await run({ text })).flat();
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
    const text = `INSERT INTO vault.token (tenant, id, type, created_at, revision, key_id, index_key_id, active_month, blinds,
      clear, presented, revealed) SELECT tenant, $1, 1, 0, 1, 1, 2, 0, '{}', '', '', '' FROM vault.tenant WHERE id = $2`;
    await other.run({ text }, [names[2] ?? '', tenantId]);
    const outcomes = create(of(tenantId, names));
    const waits = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    await expect.poll(() => other.run({ text: waits })).toEqual([[1]]);
    await other.commit();
    expect(await outcomes).toEqual(expected);
    expect(await gaps(other)).toEqual([0]);
  });
});
