import type { Instant } from '../../core/ports.ts';
import { firstValue, type SqlClient, type Statement } from './sql-client.ts';

/** The time of the database in milliseconds. */
export const NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

const CLOCK: Statement = { name: 'clock', text: `SELECT ${NOW} AS now` };

/** Reads the time of the database. */
export async function readClock(client: Pick<SqlClient, 'run'>): Promise<Instant> {
  return Number(firstValue(await client.run(CLOCK)));
}
