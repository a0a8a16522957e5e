import { Client } from 'pg';
import { startPostgres } from '../test/postgres/start-postgres.ts';
import { endedChildrenSeconds, processorSeconds } from './figures.js';

/** A small server of a team, rather than the tiny one of the tests. `fsync` stays on. */
const SETTINGS = { shared_buffers: '512MB', max_wal_size: '8GB', checkpoint_timeout: '30min', wal_compression: 'on' };

/** The folder of other binaries. A URL names a server whose processes are out of reach. */
const GIVEN = process.env.VAULT_TEST_POSTGRES;

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
    return await work({
      version: (await client.query('SHOW server_version')).rows[0].server_version.split(' ')[0],
      /** Returns the URL of a store; `port` is that of a relay. */
      url: (schema, port = started.port) =>
        `postgres://postgres@127.0.0.1:${port}/postgres?sslmode=disable&schema=${schema}`,
      port: started.port,
      query: async (text, values) => (await client.query(text, values)).rows,
      seconds: () => processorSeconds(pid) + endedChildrenSeconds(pid),
    });
  } finally {
    await client.end();
    await started.stop();
  }
}
