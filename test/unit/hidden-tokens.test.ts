import { describe, expect, it } from 'vitest';
import type { FileStore } from '../../src/core/maintenance-ports.ts';
import type { TokenCondition, TokenFilter } from '../../src/core/ports.ts';
import { MAX_SET_NUMBER } from '../../src/store/rows/container-sets.ts';
import type { Connection } from '../../src/store/sqlite/file/driver.ts';
import { containerSets } from '../../src/store/sqlite/tables/container-sets.ts';
import { presentedTokenRows } from '../../src/store/sqlite/tables/presented-token-rows.ts';
import { tenantRows } from '../../src/store/sqlite/tables/tenant-rows.ts';
import { tokenLists } from '../../src/store/sqlite/tables/token-lists.ts';
import { addTenant, blind, ENTRY, indexes, NOW, tokenRecord } from '../conformance/store-fixtures.ts';
import { openStore, rawConnection, temporaryVault } from './store-sqlite-fixture.ts';

/** More than the planner counts before it gives up. */
const MANY = 5_200;
const VISIBLE = 40;
const FEW = 100;

const index = (name: string): TokenCondition => ({ index_in: [blind(name)] });
const either = (...names: readonly string[]): TokenCondition => ({ index_in: names.map(blind) });

/** Queries for values that only hidden tokens have, that visible tokens have, too, and that no token has. */
const QUERIES: Readonly<Record<string, readonly TokenCondition[]>> = {
  'no condition': [],
  'a value': [index('hidden')],
  'a value of some': [index('some')],
  'a value that visible tokens have, too': [index('all')],
  'two values': [index('all'), index('hidden')],
  'one of two values': [either('hidden', 'absent')],
  'a value under two keys, and a type': [either('all', 'absent'), { type_in: ['token'] }],
  'no such value': [{ not: index('hidden') }],
  'one of two conditions': [{ some: [index('hidden'), { type_in: ['bank'] }] }],
  'a type': [{ type_in: ['token'] }],
  'a time': [{ created_in: { from: 0, to: NOW } }],
  'a hidden container': [index('/hidden/')],
  'a hidden container, or a visible one': [either('/hidden/', '/a/')],
};

/** The rules of callers that must not notice the tokens in `/hidden/`. */
const CALLERS: Readonly<Record<string, readonly (readonly TokenCondition[])[]>> = {
  'a container': [[index('/a/')]],
  'two containers': [[index('/a/')], [index('/b/')]],
  'a container of each of two applications': [[index('/a/'), index('/top/')]],
  'a container, and ids in another': [[index('/a/')], [index('/b/'), { id_prefix: 'token' }]],
  'a container and an empty one': [[index('/a/')], [index('/empty/')]],
  'containers without common tokens': [[index('/a/'), index('/b/')]],
};

/**
 * Returns a connection that counts the rows that its statements visit. It puts `visit()` before each condition on a
 * tenant. The function has no columns, so SQLite calls it for each row of an index before it tests other conditions.
 */
function counting(connection: Connection) {
  let visited = 0;
  connection.function('visit', { deterministic: false }, () => {
    visited += 1;
    return 1;
  });
  const prepare = (sql: string) =>
    connection.prepare(sql.replaceAll(/WHERE (?=(\w\.)?tenant = \+)/g, 'WHERE visit() AND '));
  const counted = new Proxy(connection, {
    get: (target, name) => (name === 'prepare' ? prepare : Reflect.get(target, name)),
  });
  return { counted, visits: () => visited };
}

type WorkOf = (all: readonly TokenCondition[], visible: TokenFilter['visible']) => Work;

interface Work {
  readonly visits: number;
  readonly total: number | undefined;
  readonly ids: readonly (readonly string[] | undefined)[];
}

async function addTokens(
  store: FileStore,
  tenantId: string,
  containers: readonly string[],
  count: number,
  values: readonly string[],
) {
  const tokens = Array.from({ length: count }, (_, n) => {
    const id = `token-${containers[0]}-${n}`;
    const token = tokenRecord(tenantId, { id, created_at: NOW - n });
    return {
      token,
      indexes: indexes(id, ...values.slice(0, n < FEW ? values.length : 2), ...containers),
      deduplicate: false,
    };
  });
  await store.insertTokens(tokens, NOW, ENTRY);
}

/** Opens a vault with hidden tokens that have these values, and returns a function that lists in all ways. */
async function openWith(hidden: number, values: readonly string[]): Promise<WorkOf> {
  const file = await temporaryVault();
  const store = await openStore(file);
  const { id } = await addTenant(store);
  await addTokens(store, id, ['/hidden/'], 1, values);
  await addTokens(store, id, ['/a/', '/top/'], VISIBLE, ['all']);
  await addTokens(store, id, ['/b/', '/top/'], VISIBLE, ['all']);
  await addTokens(store, id, ['/c/', '/top/', '/hidden/'], hidden, values);
  // Later sets have no number.
  for (let n = 0; n < MAX_SET_NUMBER; n += 1) await addTokens(store, id, [`/other-${n}/`], 1, ['some']);
  await addTokens(store, id, ['/unnumbered/', '/hidden/'], hidden, values);
  const { counted, visits } = counting(await rawConnection(file));
  const lists = tokenLists(counted, tenantRows(counted), containerSets(counted), presentedTokenRows(counted));
  return (all, visible) => {
    const filter = { tenant_id: id, all, visible };
    const before = visits();
    const found = lists.findTokens(filter, { offset: 0, limit: 20 }, NOW);
    const walked = lists.walkTokens(filter, { after: undefined, limit: 1000, skip: 0, take: 20 }, NOW);
    const scanned = lists.scanTokens(filter, { after: undefined, limit: 1000 }, NOW);
    const ids = [found, walked, scanned].map(({ records }) => records?.map((record) => record.id));
    return { visits: visits() - before, total: found.total, ids };
  };
}

describe('lists and searches of a caller with container rules', () => {
  it('visit as many rows whether hidden tokens match or not', async () => {
    const [none, many] = [await openWith(1, []), await openWith(MANY, ['all', 'hidden', 'some'])];
    const worksOf = (list: WorkOf) =>
      Object.entries(CALLERS).flatMap(([caller, visible]) =>
        Object.entries(QUERIES).map(([query, all]) => ({ caller, query, ...list(all, visible) })),
      );
    expect(worksOf(many)).toEqual(worksOf(none));
    const found = worksOf(many).filter(({ total }) => total !== 0);
    expect(found.length).toBeGreaterThan(Object.keys(QUERIES).length);
    expect(found.every(({ visits }) => visits > VISIBLE)).toBe(true);
  });

  it('control: visit hidden tokens if a rule concerns ids, or without rules', async () => {
    const [none, many] = [await openWith(1, []), await openWith(MANY, ['all', 'hidden', 'some'])];
    for (const visible of [undefined, [[index('/a/')], [{ id_prefix: 'token-/b/' }]]]) {
      const [few, all] = [none, many].map((list) => list([index('hidden')], visible));
      expect(all?.visits).toBeGreaterThan((few?.visits ?? MANY) + MANY / 2);
    }
  });
});
