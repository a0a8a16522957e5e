import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Run } from '../../src/store/postgres/connections.ts';
import { inspectTables } from '../../src/store/postgres/inspect-tables.ts';
import { inSchema, schemaStatements } from '../../src/store/postgres/schema.ts';
import type { SqlClient } from '../../src/store/postgres/sql-client.ts';
import { createTableDatabase, openClient, openFilled } from './open-client.ts';

it('the server accepts the schema, under any name', async () => {
  const client = await openFilled(schemaStatements('user'));
  onTestFinished(() => client.close());
  const text = `SELECT (SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = 'user' AND relkind = 'r'),
      (SELECT count(*) FROM "user".audit), (SELECT max(format) FROM "user".format), (SELECT count(*) FROM "user".header)`;
  expect(await client.run({ text })).toEqual([[16, 1, 1, 0]]);
  const run: Run = (statement) => client.run({ text: inSchema(String(statement), 'user') });
  const { inspect } = inspectTables({ inspectSnapshot: (query) => query(run) });
  expect((await inspect()).map(({ table }) => table)).toEqual(['header']);
});

describe('a row of token', () => {
  let url = '';
  beforeAll(async () => {
    url = await createTableDatabase();
  });

  const live = { blinds: ['00000000-0000-0000-0000-000000000001'], clear: 'c', presented: 'p', revealed: 'r' };
  const deleted = { deleted_at: 5, mac: 'm', created_by: '00000000-0000-0000-0000-000000000002' };

  it.each([
    ['live', live, true],
    ['live, without a sealed value', { ...live, revealed: null }, false],
    ['live, with a creator in clear', { ...live, created_by: deleted.created_by }, false],
    ['deleted', deleted, true],
    ['deleted, without its MAC', { ...deleted, mac: null }, false],
    ['deleted, with a sealed value', { ...deleted, presented: 'p' }, false],
    ['deleted, with blind indexes', { ...deleted, blinds: live.blinds }, false],
  ])('may be %s: %o %s', async (_, columns, isAllowed) => {
    const client = await openClient(url);
    await client.run({ text: 'DELETE FROM vault.token' });
    const outcome = await insertToken(client, 'x', columns).then(
      () => true,
      ({ code }) => code,
    );
    expect(outcome).toBe(isAllowed || '23514');
  });

  it('keeps the id of a deleted token, and orders ids by their bytes, though the database sorts text by a language', async () => {
    const client = await openClient(url);
    await client.run({ text: 'DELETE FROM vault.token' });
    await insertToken(client, 'B', deleted);
    await insertToken(client, 'a', live);
    await expect(insertToken(client, 'B', live)).rejects.toMatchObject({ code: '23505', table: 'token' });
    expect(await client.run({ text: `SELECT 'a' < 'B'` })).toEqual([[true]]);
    expect(await client.run({ text: 'SELECT id FROM vault.token ORDER BY id' })).toEqual([['B'], ['a']]);
  });
});

async function insertToken(client: SqlClient, id: string, columns: object): Promise<void> {
  const row = {
    tenant: 1,
    type: 1,
    active_month: 1,
    created_at: 1,
    revision: 1,
    key_id: 1,
    index_key_id: 1,
    id,
    ...columns,
  };
  const names = Object.keys(row);
  const text = `INSERT INTO vault.token (${names}) VALUES (${names.map((_, at) => `$${at + 1}`)})`;
  await client.run({ text }, Object.values(row));
}
