import { beforeAll, describe, expect, it } from 'vitest';
import type { TokenRecord } from '../../src/core/ports.ts';
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

async function addToken({ run }: SqlClient): Promise<TokenRecord> {
  const tenantId = await insertTenant(run);
  const token = tokenRecord(tenantId);
  const options = { deduplicate: false, now: NOW };
  await workOf(await writeOf((writes) => writes.insertToken(token, indexes(token.id), options, ENTRY)))(run);
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
