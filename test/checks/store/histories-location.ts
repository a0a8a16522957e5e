import { Client } from 'pg';
import { TABLE_NAMES } from '../../../src/store/postgres/schema.ts';
import { parseStore } from '../../../src/vault/location.ts';
import { createStoreVault, openStoreVault } from '../../../src/vault/store-vault.ts';
import { startPostgres } from '../../postgres/start-postgres.ts';
import { CREDENTIAL, type HistoryLocation, type HistoryLocations } from '../histories-location.ts';
import { groupRows, spreadRows } from '../histories-rows.ts';

const NAME = 'history';
const KEPT = 'kept';

/** The tables with records, in the order of writing: of two rows at one position, the first stays. */
const TABLES = [
  ...['header', 'tenant', 'tenant_key', 'application', 'application_key', 'token', 'token_index', 'container_set'],
  ...['audit', 'audit_index'],
];

/** Tables with rows of deleted tenants, until the sweeper removes them. */
const PURGED = ['token', 'token_index', 'container_set'];

function onlyLive(table: string): string {
  return PURGED.includes(table) ? 'WHERE tenant NOT IN (SELECT tenant FROM vault.purge)' : '';
}

const READ = `SELECT json_build_object(${TABLES.map(
  (table) =>
    `'${table}', (SELECT coalesce(json_agg(t), '[]') FROM (SELECT * FROM vault.${table} ${onlyLive(table)}) t)`,
)})::text AS rows`;

/** Computes the counters of tokens again, and the end of the log index. */
const COUNT = `DELETE FROM vault.token_count;
  INSERT INTO vault.token_count SELECT tenant, type, active_month, key_id, index_key_id,
    count(*) FILTER (WHERE deleted_at IS NULL), count(*) FILTER (WHERE deleted_at IS NULL), max(created_at)
    FROM vault.token GROUP BY 1, 2, 3, 4, 5;
  UPDATE vault.head SET logged = least(logged, (SELECT max(sequence) FROM vault.audit));`;

const CHANGED = TABLE_NAMES.filter((table) => table !== 'format');
const KEEP = [
  `CREATE SCHEMA ${KEPT};`,
  ...CHANGED.map((table) => `CREATE TABLE ${KEPT}.${table} AS TABLE vault.${table};`),
].join('\n');
const RESTORE = [
  `TRUNCATE ${CHANGED.map((table) => `vault.${table}`)} RESTART IDENTITY;`,
  ...CHANGED.map((table) => `INSERT INTO vault.${table} OVERRIDING SYSTEM VALUE TABLE ${KEPT}.${table};`),
  ...['tenant', 'application', 'application_key'].map(
    (table) =>
      `SELECT setval(pg_get_serial_sequence('vault.${table}', '${table}'), max(${table})) FROM vault.${table};`,
  ),
].join('\n');

/** Starts a server and creates a vault in it. Each location begins with its rows. */
export async function storeLocations(): Promise<HistoryLocations> {
  const server = await startPostgres({
    settings: { fsync: 'off', full_page_writes: 'off', jit: 'off', autovacuum: 'off' },
  });
  // The client requires a password.
  process.env['PGPASSWORD'] = 'unused';
  const url = `postgres://postgres@127.0.0.1:${server.port}/${NAME}?sslmode=disable`;
  const at = { store: parseStore(url, true), credential: CREDENTIAL };
  const connectTo = async (database: string) => {
    const client = new Client({ host: '127.0.0.1', port: server.port, user: 'postgres', database });
    await client.connect();
    return client;
  };
  const root = await connectTo('postgres');
  await root.query(`CREATE DATABASE ${NAME}`);
  await root.end();
  const { tenant, application } = await createStoreVault({ ...at, tenantName: 'first', weakPassphrase: false });
  const client = await connectTo(NAME);
  await client.query(KEEP);

  async function create(): Promise<HistoryLocation> {
    await client.query(RESTORE);
    return {
      holder: at,
      open: (settings) => openStoreVault({ ...at, ...settings }),
      read: async () => groupRows(JSON.parse((await client.query(READ)).rows[0].rows)),
      async write(rows) {
        const tables = spreadRows(rows);
        // The order of locks of a daemon that still writes, else the two deadlock.
        await client.query('BEGIN; SELECT FROM vault.head FOR UPDATE');
        for (const table of TABLES) {
          await client.query(`DELETE FROM vault.${table} ${onlyLive(table)}`);
          await client.query(
            `INSERT INTO vault.${table} OVERRIDING SYSTEM VALUE
              SELECT * FROM json_populate_recordset(NULL::vault.${table}, $1) ON CONFLICT DO NOTHING`,
            [JSON.stringify(tables[table] ?? [])],
          );
        }
        await client.query(`${COUNT} COMMIT`);
      },
      close: async () => undefined,
    };
  }

  const times = { start: Date.now(), tenantId: tenant.id, management: application.key ?? '' };
  return {
    ...times,
    create,
    async remove() {
      await client.end();
      await server.stop();
    },
  };
}
