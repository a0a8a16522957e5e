import { beforeAll, describe, expect, it } from 'vitest';
import { NO_LINK } from '../../src/core/audit/audit-link.ts';
import type { TokenRecord } from '../../src/core/ports.ts';
import { connectStore } from '../../src/store/postgres/connect.ts';
import type { LaneMember, Place } from '../../src/store/postgres/connections.ts';
import type { SqlClient } from '../../src/store/postgres/sql-client.ts';
import { parseStoreUrl } from '../../src/store/postgres/store-url.ts';
import { ENTRY, indexes, NOW, nextId, sealed, tokenRecord, tombstoneOf } from '../conformance/store-fixtures.ts';
import { createDatabase } from './create-database.ts';
import { createTables, openClient } from './open-client.ts';
import { memberOf, workOf } from './race.ts';

// The place of a member is computed before the earlier members have run. Each statement must check it again.

let url: string;
beforeAll(async () => {
  url = await createDatabase();
  const client = await connectStore(parseStoreUrl(`${url}?sslmode=disable`), { timeout: 5000 });
  await createTables(client);
  await client.close();
});

const LINK = sealed('link', 16);

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
async function contents({ run }: SqlClient): Promise<unknown> {
  const tables = ['token', 'token_index', 'token_count', 'audit'];
  return Promise.all(tables.map((table) => run({ text: `SELECT x::text FROM vault.${table} x ORDER BY x::text` })));
}

describe.each(MEMBERS)('a %s', (_, memberFor) => {
  async function send(client: SqlClient, member: LaneMember<unknown>, place: Partial<Place>) {
    const whole = {
      sequence: 1,
      previous: NO_LINK,
      at: NOW,
      sealed: sealed('entry'),
      link: LINK,
      draft: ENTRY,
      isRemoval: false,
      ...place,
    };
    const sent = member
      .statements([whole], [member.row ?? []])
      .map(([statement, values]) => client.run(statement, values));
    return member.read(await Promise.all(sent), 0);
  }

  it.each<[string, Partial<Place>]>([
    ['after an entry that is missing', { sequence: 3 }],
    ['after another entry', { previous: LINK }],
  ])('changes nothing %s', async (_place, place) => {
    const client = await openClient(url);
    const member = await prepare(client, memberFor);
    const before = await contents(client);
    expect(await send(client, member, place)).toBeUndefined();
    expect(await contents(client)).toEqual(before);
  });

  it('writes its entry at its place', async () => {
    const client = await openClient(url);
    const member = await prepare(client, memberFor);
    await client.run({ text: 'BEGIN' });
    expect(await send(client, member, {})).toMatchObject({ hasChanged: true });
    const text = 'SELECT sequence, at, sealed, link FROM vault.audit WHERE sequence > 0';
    const rows = await client.run({ text });
    expect(rows).toEqual([[1, NOW, Buffer.from(sealed('entry')), Buffer.from(LINK)]]);
    await client.run({ text: 'ROLLBACK' });
  });
});
