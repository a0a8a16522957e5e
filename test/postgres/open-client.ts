import { onTestFinished } from 'vitest';
import { connectStore } from '../../src/store/postgres/connect.ts';
import { schemaStatements } from '../../src/store/postgres/schema.ts';
import type { SqlClient } from '../../src/store/postgres/sql-client.ts';
import { parseStoreUrl } from '../../src/store/postgres/store-url.ts';
import { nextId } from '../conformance/store-fixtures.ts';
import { createDatabase } from './create-database.ts';

/** Opens a connection for the rest of the test. */
export async function openClient(url: string, timeout = 5000): Promise<SqlClient> {
  const client = await connectStore(parseStoreUrl(`${url}?sslmode=disable`), { timeout });
  onTestFinished(() => client.close());
  return client;
}

/** Opens a connection to a new database in which these statements have run. The caller closes it. */
export async function openFilled(texts: readonly string[]): Promise<SqlClient> {
  const client = await connectStore(parseStoreUrl(`${await createDatabase()}?sslmode=disable`), { timeout: 60_000 });
  for (const text of texts) await client.run({ text });
  return client;
}

/** Inserts a row for a tenant. Resolves to its id. */
export async function insertTenant(run: SqlClient['run']): Promise<string> {
  const id = nextId();
  const text = `INSERT INTO vault.tenant (id, owner_id, created_at, revision, key_id, data_key_id, index_key_id, details)
    VALUES ($1, $1, 0, 1, 1, 1, 2, '')`;
  await run({ text }, [id]);
  return id;
}

/** Creates the tables of a vault in the schema `vault`. */
async function createTables(client: SqlClient): Promise<void> {
  const texts = ['BEGIN', ...schemaStatements('vault')];
  await Promise.all([...texts.map((text) => client.run({ text })), client.commit()]);
}

/** Creates a database with the tables of a vault in the schema `vault`. Returns its URL. */
export async function createTableDatabase(): Promise<string> {
  const url = await createDatabase();
  const client = await connectStore(parseStoreUrl(`${url}?sslmode=disable`), { timeout: 5000 });
  await createTables(client);
  await client.close();
  return url;
}
