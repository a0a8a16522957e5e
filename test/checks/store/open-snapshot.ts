import { setTimeout as sleep } from 'node:timers/promises';
import { type Check, CheckFailure, type CheckOptions } from '../check.ts';
import { builtText, withPatch } from '../patched-product.ts';
import { type FleetOptions, startFleet } from './fleet.ts';
import { fleetLoad } from './fleet-load.ts';

/** How long the daemons write before and after the snapshot, and while it is open, in seconds. */
const SECONDS = { quick: { closed: 1, open: 3 }, full: { closed: 8, open: 30 } } as const;
/** The rate with the snapshot, to the rate without it. The counter of tokens costs some: its row has a version a commit. */
const MIN_RATIO = 0.6;
/** A page of a table. It has room for some fifty versions of a short row. */
const PAGE_BYTES = 8_192;
/** The statement of the built product that locks the row of the log. */
const LOCKS = builtText(
  'SELECT 1 / count(*) AS open FROM (SELECT 1 FROM vault.head WHERE left_at IS NULL FOR UPDATE) h',
);
/** Updates the row instead, as if it had the end of the log. */
const UPDATES =
  'WITH h AS (UPDATE vault.head SET logged = logged WHERE left_at IS NULL RETURNING 1) SELECT 1 / count(*) AS open FROM h';

/** Keeps a snapshot open, as `pg_dump` does, while daemons write: no row may collect versions. */
async function keepOpen({ seed, quick }: CheckOptions, options: Omit<FleetOptions, 'daemons'> = {}) {
  const { closed, open } = SECONDS[quick ? 'quick' : 'full'];
  await using fleet = await startFleet({ daemons: 2, ...options });
  const load = fleetLoad(fleet, seed);
  const client = await fleet.sqlClient();
  try {
    const headBytes = async () => {
      const { rows } = await client.query("SELECT pg_relation_size('vault.head') AS bytes");
      return Number(rows[0].bytes);
    };
    let writes = 0;
    const rate = async (seconds: number) => {
      const [before, started] = [writes, performance.now()];
      await sleep(seconds * 1_000);
      return ((writes - before) * 1_000) / (performance.now() - started);
    };
    const measure = async () => {
      await rate(closed);
      const before = await rate(closed);
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
      await client.query('SELECT count(*) FROM vault.token');
      const during = await rate(open);
      const head = await headBytes();
      await client.query('COMMIT');
      return { before, during, head, after: await rate(closed) };
    };
    const { before, during, head, after } = await load.writeWhile(fleet.daemons, measure, () => void writes++);
    const ratio = (2 * during) / (before + after);
    const found = await load.finish({
      seconds: open,
      before_per_second: Math.round(before),
      open_per_second: Math.round(during),
      after_per_second: Math.round(after),
      ratio: Math.round(ratio * 100) / 100,
      head_bytes: head,
    });
    if (head > PAGE_BYTES) throw new CheckFailure('each transaction adds a version of the row that it locks', found);
    if (!quick && ratio < MIN_RATIO) throw new CheckFailure('writes slowed down', found);
    return found;
  } finally {
    await client.end();
  }
}

export const CHECK: Check = {
  number: 43,
  name: 'open snapshot',
  quick: true,
  runs: 'alone',
  run: (options) => keepOpen(options),
  /** Runs a product that keeps a version of the locked row for each transaction. */
  control: (options) => withPatch([LOCKS, UPDATES], (bin) => keepOpen({ ...options, quick: true }, { bin })),
};
