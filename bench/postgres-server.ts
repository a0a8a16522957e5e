import { Client, type QueryResultRow } from 'pg';
import { startPostgres } from '../test/postgres/start-postgres.ts';
import { endedChildrenSeconds, type Line, line, processorSeconds } from './figures.ts';

/** A small server of a team, rather than the tiny one of the tests. `fsync` stays on. */
const SETTINGS = { shared_buffers: '512MB', max_wal_size: '8GB', checkpoint_timeout: '30min', wal_compression: 'on' };

/** The folder of other binaries. A URL names a server whose processes are out of reach. */
const GIVEN = process.env['VAULT_TEST_POSTGRES'];

/** The tables that grow with the tokens. */
const TABLES = ['token', 'token_index', 'audit', 'audit_index'];

/** The bytes for a token of a table and of its indexes. */
interface TableSize {
  readonly table: string;
  readonly rows: number;
  readonly indexes: number;
}

/** A running server. */
export interface BenchServer {
  readonly version: string;
  readonly port: number;
  /** Returns the URL of a store; `port` is that of a relay. */
  url(schema: string, port?: number): string;
  query<Row extends QueryResultRow>(text: string, values?: readonly unknown[]): Promise<readonly Row[]>;
  /** Resolves to the sizes of each table with its indexes. */
  sizes(schema: string, tokens: number): Promise<readonly TableSize[]>;
  /** Returns the processor seconds of all processes of the server, and of those that have ended. */
  seconds(): number;
}

/**
 * Starts PostgreSQL and runs `work` with it; stops it afterwards. `VAULT_TEST_POSTGRES` names other binaries.
 */
export async function withPostgres<T>(work: (server: BenchServer) => Promise<T>): Promise<T> {
  if (process.platform !== 'linux') throw new Error('this case reads processor time from /proc: run it on Linux');
  const binaries = GIVEN?.startsWith('postgres://') ? undefined : GIVEN;
  const started = await startPostgres({ binaries, settings: SETTINGS });
  const client = new Client({ host: '127.0.0.1', port: started.port, user: 'postgres' });
  try {
    await client.connect();
    const pid = await started.pid();
    const query: BenchServer['query'] = async <Row extends QueryResultRow>(text: string, values?: readonly unknown[]) =>
      (await client.query<Row>(text, values && [...values])).rows;
    const [{ server_version } = { server_version: '' }] = await query<{ server_version: string }>(
      'SHOW server_version',
    );
    return await work({
      version: server_version.replace(/ .*/, ''),
      url: (schema, port = started.port) =>
        `postgres://postgres@127.0.0.1:${port}/postgres?sslmode=disable&schema=${schema}`,
      port: started.port,
      query,
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
export function sizeLines(bench: string, sizes: readonly TableSize[]): readonly Line[] {
  return sizes.map(({ table, rows, indexes }) =>
    line(bench, `size-${table}`, { bytes: rows + indexes, row_bytes: rows, index_bytes: indexes }),
  );
}
