import { Client } from 'pg';
import { startPostgres } from '../test/postgres/start-postgres.ts';
import { endedChildrenSeconds, line, processorSeconds } from './figures.js';

/** A small server of a team, rather than the tiny one of the tests. `fsync` stays on. */
const SETTINGS = { shared_buffers: '512MB', max_wal_size: '8GB', checkpoint_timeout: '30min', wal_compression: 'on' };

/** The folder of other binaries. A URL names a server whose processes are out of reach. */
const GIVEN = process.env.VAULT_TEST_POSTGRES;

/** The tables that grow with the tokens. */
const TABLES = ['token', 'token_index', 'audit', 'audit_index'];

/**
 * Starts PostgreSQL and runs `work` with it; stops it afterwards. `VAULT_TEST_POSTGRES` names other binaries.
 * `seconds` returns the processor seconds of the server with all its processes, and those that have ended.
 */
export async function withPostgres(work) {
  if (process.platform !== 'linux') throw new Error('this case reads processor time from /proc: run it on Linux');
  const binaries = GIVEN?.startsWith('postgres://') ? undefined : GIVEN;
  const started = await startPostgres({ binaries, settings: SETTINGS });
  const client = new Client({ host: '127.0.0.1', port: started.port, user: 'postgres' });
  try {
    await client.connect();
    const pid = await started.pid();
    const query = async (text, values) => (await client.query(text, values)).rows;
    return await work({
      version: (await query('SHOW server_version'))[0].server_version.split(' ')[0],
      /** Returns the URL of a store; `port` is that of a relay. */
      url: (schema, port = started.port) =>
        `postgres://postgres@127.0.0.1:${port}/postgres?sslmode=disable&schema=${schema}`,
      port: started.port,
      query,
      /** Resolves to the bytes for a token of each table and of its indexes. */
      sizes: (schema, tokens) =>
        query(
          `SELECT relname AS table, pg_table_size(oid) / $1::float AS rows, pg_indexes_size(oid) / $1::float AS indexes
          FROM pg_class WHERE relnamespace = $2::regnamespace AND relname = ANY ($3) ORDER BY array_position($3, relname)`,
          [tokens, schema, TABLES],
        ),
      seconds: () => processorSeconds(pid) + endedChildrenSeconds(pid),
    });
  } finally {
    await client.end();
    await started.stop();
  }
}

/** Returns the result lines about the bytes for a token, of `sizes`. */
export function sizeLines(bench, sizes) {
  return sizes.map(({ table, rows, indexes }) =>
    line(bench, `size-${table}`, { bytes: rows + indexes, row_bytes: rows, index_bytes: indexes }),
  );
}
