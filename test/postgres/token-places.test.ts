import { beforeAll, describe, expect, it } from 'vitest';
import { linkOf, NO_LINK } from '../../src/core/audit/audit-link.ts';
import type { TokenRecord } from '../../src/core/ports.ts';
import { connectStore } from '../../src/store/postgres/connect.ts';
import type { LaneMember } from '../../src/store/postgres/connections.ts';
import type { SqlClient } from '../../src/store/postgres/sql-client.ts';
import { parseStoreUrl } from '../../src/store/postgres/store-url.ts';
import { ENTRY, indexes, NOW, nextId, tokenRecord, tombstoneOf } from '../conformance/store-fixtures.ts';
import { createDatabase } from './create-database.ts';
import { memberOf, workOf } from './member-of.ts';
import { createTables, openClient } from './open-client.ts';

let url: string;
beforeAll(async () => {
  url = await createDatabase();
  const client = await connectStore(parseStoreUrl(`${url}?sslmode=disable`), { timeout: 5000 });
  await createTables(client);
  await client.close();
});

/** Returns the member, with a new token and another one that is stored. */
type MemberOf = (fresh: TokenRecord, stored: TokenRecord) => Promise<LaneMember<unknown>>;

const insertion =
  (deduplicate: boolean): MemberOf =>
  (fresh) =>
    memberOf((writes) => writes.insertToken(fresh, indexes(fresh.id), { deduplicate, now: NOW }, ENTRY));

const MEMBERS: readonly (readonly [string, MemberOf])[] = [
  ['create', insertion(false)],
  ['create unless there is a duplicate', insertion(true)],
  [
    'patch',
    (_, stored) =>
      memberOf((writes) => {
        const next = { ...stored, revision: 2, expires_at: NOW + 1 };
        return writes.replaceToken(next, indexes('y'), { revision: 1, now: NOW }, ENTRY);
      }),
  ],
  ['removal', (_, stored) => memberOf((writes) => writes.deleteToken(tombstoneOf(stored), 1, ENTRY))],
];

async function prepare({ run }: SqlClient, memberFor: MemberOf): Promise<LaneMember<unknown>> {
  const tenantId = nextId();
  const text = `INSERT INTO vault.tenant (id, owner_id, created_at, revision, key_id, data_key_id, index_key_id, details)
    VALUES ($1, $1, 0, 1, 1, 1, 2, '')`;
  await run({ text }, [tenantId]);
  const [fresh, stored] = [tokenRecord(tenantId), tokenRecord(tenantId)];
  await workOf(await insertion(false)(stored, stored))(run);
  return memberFor(fresh, stored);
}

/** Resolves to all that a change of a token writes. */
async function contents({ run }: SqlClient): Promise<readonly unknown[]> {
  const tables = ['token', 'token_index', 'token_count', 'audit'];
  return Promise.all(tables.map((table) => run({ text: `SELECT x::text FROM vault.${table} x ORDER BY x::text` })));
}

describe.each(MEMBERS)('a %s', (_, memberFor) => {
  it('writes its entry behind the last one, with its link', async () => {
    const client = await openClient(url);
    const member = await prepare(client, memberFor);
    await client.run({ text: 'BEGIN' });
    for (const [statement, values] of member.statements([ENTRY], [member.row ?? []]))
      await client.run(statement, values);
    const text = 'SELECT sequence, at, sealed, link FROM vault.audit WHERE sequence > 0';
    const rows = await client.run({ text });
    const row = { sequence: 1, at: NOW, sealed: ENTRY.sealed };
    expect(rows).toEqual([[1, NOW, Buffer.from(ENTRY.sealed), Buffer.from(linkOf(NO_LINK, [row]))]]);
    await client.run({ text: 'ROLLBACK' });
  });

  it('writes no entry without a draft', async () => {
    const client = await openClient(url);
    const member = await prepare(client, memberFor);
    await client.run({ text: 'BEGIN' });
    const before = await contents(client);
    for (const [statement, values] of member.statements([], [member.row ?? []])) await client.run(statement, values);
    const after = await contents(client);
    expect(after).toHaveLength(before.length);
    expect(after.at(-1)).toEqual(before.at(-1));
    expect(after).not.toEqual(before);
    await client.run({ text: 'ROLLBACK' });
  });
});
