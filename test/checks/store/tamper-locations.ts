import { Client, type QueryResult } from 'pg';
import { TABLE_NAMES } from '../../../src/store/postgres/schema.ts';
import { parseStore } from '../../../src/vault/location.ts';
import { createStoreVault, openStoreVault } from '../../../src/vault/store-vault.ts';
import type { TestServer } from '../../postgres/start-postgres.ts';
import type { TamperLocations } from '../tamper-locations.ts';

const KEPT = 'kept';

/** Locations of vaults in the databases of a server. Their names are those of the databases. */
export function storeLocations({ port }: TestServer): TamperLocations {
  const urlOf = (name: string) => `postgres://postgres@127.0.0.1:${port}/${name}?sslmode=disable`;
  const at: TamperLocations['at'] = (name) => ({ store: parseStore(urlOf(name), false) });

  async function query(name: string, sql: string, values: readonly unknown[] = []) {
    const client = new Client({ host: '127.0.0.1', port, user: 'postgres', database: name });
    await client.connect();
    try {
      // Several statements have several results.
      const found: unknown = await client.query(sql, [...values]);
      return ([found].flat() as readonly QueryResult[]).at(-1)?.rows ?? [];
    } finally {
      await client.end();
    }
  }
  const copyTables = (from: string, to: string, tables: readonly string[]) =>
    tables
      .map(
        (table) =>
          `DELETE FROM ${to}.${table}; INSERT INTO ${to}.${table} OVERRIDING SYSTEM VALUE TABLE ${from}.${table};`,
      )
      .join('\n');
  const createTables = (schema: string) =>
    [
      `CREATE SCHEMA ${schema};`,
      ...TABLE_NAMES.map((table) => `CREATE TABLE ${schema}.${table} (LIKE vault.${table});`),
    ].join('\n');

  /** Copies the rows of another database into the schema `other`. */
  async function attach(name: string, other: string): Promise<void> {
    await query(name, createTables('other'));
    for (const table of TABLE_NAMES) {
      const [row] = await query(other, `SELECT coalesce(json_agg(t), '[]')::text AS rows FROM vault.${table} t`);
      const into = `INSERT INTO other.${table} SELECT * FROM json_populate_recordset(NULL::other.${table}, $1)`;
      await query(name, into, [row?.rows]);
    }
  }

  return {
    nameIn: (_folder, title) => title,
    at,
    refusals: ['store_missing', 'store_refused'],
    // The audit of a vault that was moved away is closed.
    problems: ['integrity_failure', 'vault_moved'],
    flags: (name) => ['--store', urlOf(name)],
    async create(name, { credential, tenantName }) {
      await query('postgres', `CREATE DATABASE ${name}`);
      const store = parseStore(urlOf(name), false);
      const { application } = await createStoreVault({ store, credential, tenantName, weakPassphrase: false });
      return { vault: await openStoreVault({ store, credential }), key: application.key ?? '' };
    },
    async copy(from, to) {
      await query('postgres', `DROP DATABASE IF EXISTS ${to} WITH (FORCE)`);
      await query('postgres', `CREATE DATABASE ${to} TEMPLATE ${from}`);
    },
    remove: async (name) => void (await query('postgres', `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)),
    async alter(name, sql, other) {
      if (other !== undefined) await attach(name, other);
      await query(name, `SET search_path = vault; ${sql}`);
    },
    // The rows stay in the database, so that its copies have them, too.
    async keep(name) {
      await query(name, createTables(KEPT) + copyTables('vault', KEPT, TABLE_NAMES));
      return [];
    },
    async putBack(name, _kept, tables = TABLE_NAMES) {
      const restored = TABLE_NAMES.filter((table) => tables.includes(table) || table === 'token_count');
      await query(name, copyTables(KEPT, 'vault', restored));
    },
    query: (name, sql) => query(name, `SET search_path = vault; ${sql}`),
  };
}
