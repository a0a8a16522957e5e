import { beforeAll, describe, expect, it } from 'vitest';
import { linkOf, NO_LINK } from '../../src/core/audit/audit-link.ts';
import type { TokenRecord } from '../../src/core/ports.ts';
import type { QueuedWrite } from '../../src/store/postgres/connections.ts';
import type { SqlClient } from '../../src/store/postgres/sql-client.ts';
import { tokenReads } from '../../src/store/postgres/token-reads.ts';
import { blindText } from '../../src/store/postgres/uuid-text.ts';
import { blind, ENTRY, indexes, NOW, tokenRecord, tombstoneOf } from '../conformance/store-fixtures.ts';
import { createTableDatabase, insertTenant, openClient } from './open-client.ts';
import { workOf, writeOf } from './write-of.ts';

let url: string;
beforeAll(async () => {
  url = await createTableDatabase();
});

type WriteOf = (fresh: TokenRecord, stored: TokenRecord) => Promise<QueuedWrite<unknown>>;

const insertion =
  (deduplicate: boolean): WriteOf =>
  (fresh) =>
    writeOf((writes) => writes.insertToken(fresh, indexes(fresh.id), { deduplicate, now: NOW }, ENTRY));

const WRITES: readonly (readonly [string, WriteOf])[] = [
  ['create', insertion(false)],
  ['create unless there is a duplicate', insertion(true)],
  [
    'patch',
    (_, stored) =>
      writeOf((writes) => {
        const next = { ...stored, revision: 2, expires_at: NOW + 1 };
        return writes.replaceToken(next, indexes('y'), { revision: 1, now: NOW }, ENTRY);
      }),
  ],
  ['removal', (_, stored) => writeOf((writes) => writes.deleteToken(tombstoneOf(stored), 1, ENTRY))],
];

async function prepare({ run }: SqlClient, writeFor: WriteOf): Promise<QueuedWrite<unknown>> {
  const tenantId = await insertTenant(run);
  const [fresh, stored] = [tokenRecord(tenantId), tokenRecord(tenantId)];
  await workOf(await insertion(false)(stored, stored))(run);
  return writeFor(fresh, stored);
}

/** Resolves to all that a change of a token writes. */
async function contents({ run }: SqlClient): Promise<readonly unknown[]> {
  const tables = ['token', 'token_index', 'token_count', 'audit'];
  return Promise.all(tables.map((table) => run({ text: `SELECT x::text FROM vault.${table} x ORDER BY x::text` })));
}

describe.each(WRITES)('a %s', (_, writeFor) => {
  it('writes its entry behind the last one, with its link', async () => {
    const client = await openClient(url);
    const write = await prepare(client, writeFor);
    await client.run({ text: 'BEGIN' });
    for (const [statement, values] of write.statements([ENTRY], [write.row ?? []])) await client.run(statement, values);
    const text = 'SELECT sequence, at, sealed, link FROM vault.audit WHERE sequence > 0';
    const rows = await client.run({ text });
    const row = { sequence: 1, at: NOW, sealed: ENTRY.sealed };
    expect(rows).toEqual([[1, NOW, Buffer.from(ENTRY.sealed), Buffer.from(linkOf(NO_LINK, [row]))]]);
    await client.run({ text: 'ROLLBACK' });
  });

  it('writes no entry without a draft', async () => {
    const client = await openClient(url);
    const write = await prepare(client, writeFor);
    await client.run({ text: 'BEGIN' });
    const before = await contents(client);
    for (const [statement, values] of write.statements([], [write.row ?? []])) await client.run(statement, values);
    const after = await contents(client);
    expect(after).toHaveLength(before.length);
    expect(after.at(-1)).toEqual(before.at(-1));
    expect(after).not.toEqual(before);
    await client.run({ text: 'ROLLBACK' });
  });
});

async function addToken({ run }: SqlClient): Promise<TokenRecord> {
  const tenantId = await insertTenant(run);
  const token = tokenRecord(tenantId);
  await workOf(await insertion(false)(token, token))(run);
  return token;
}

async function addEntry({ run }: SqlClient, tenantId: string, name: string, token: TokenRecord): Promise<void> {
  const text = `INSERT INTO vault.token_index SELECT (SELECT tenant FROM vault.tenant WHERE id = $1), $2, 0, created_at, token
    FROM vault.token WHERE id = $3`;
  await run({ text }, [tenantId, blindText(blind(`fingerprint ${name}`)), token.id]);
}

describe('a damaged entry of the index', () => {
  it('shows no token of another tenant', async () => {
    const client = await openClient(url);
    const [own, other] = [await addToken(client), await addToken(client)];
    await addEntry(client, own.tenant_id, 'x', other);
    const { findDuplicate } = tokenReads({ read: client.run });
    expect(await findDuplicate(own.tenant_id, blind('fingerprint x'), '', NOW)).toBeUndefined();
    await addEntry(client, own.tenant_id, 'x', own);
    expect(await findDuplicate(own.tenant_id, blind('fingerprint x'), '', NOW)).toMatchObject({ id: own.id });
  });

  it('shows no deleted token', async () => {
    const client = await openClient(url);
    const token = await addToken(client);
    await workOf(await writeOf((writes) => writes.deleteToken(tombstoneOf(token), 1, ENTRY)))(client.run);
    await addEntry(client, token.tenant_id, token.id, token);
    const { findDuplicate } = tokenReads({ read: client.run });
    expect(await findDuplicate(token.tenant_id, blind(`fingerprint ${token.id}`), '', NOW)).toBeUndefined();
  });
});

describe('a damaged row', () => {
  it.each([
    ['type', '99'],
    ['revision', `${2 ** 60}`],
    ['created_at', `${-(2 ** 60)}`],
    ['expires_at', `${2 ** 60}`],
  ])('with an impossible %s is reported', async (column, value) => {
    const client = await openClient(url);
    const { tenant_id, id } = await addToken(client);
    await client.run({ text: `UPDATE vault.token SET ${column} = ${value} WHERE id = $1` }, [id]);
    const { findToken } = tokenReads({ read: client.run });
    await expect(findToken(tenant_id, id, NOW)).rejects.toMatchObject({ code: 'integrity_failure' });
  });
});
