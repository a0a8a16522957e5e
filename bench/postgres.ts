import { type CaseResult, type Line, limitLine, line, median } from './figures.ts';
import { CONNECTIONS } from './load.ts';
import { measureDaemons } from './postgres-daemons.ts';
import { sizeLines, withPostgres } from './postgres-server.ts';
import { measureStore } from './postgres-store.ts';

const BENCH = 'postgres';

const atMost = (
  name: string,
  unit: string,
  value: number,
  target: number,
  figures: Partial<Record<string, number>> = {},
) => limitLine(BENCH, name, unit, { value, target, ...figures });

/** Returns the lines about the store alone. */
function storeLines(figures: Awaited<ReturnType<typeof measureStore>>): readonly Line[] {
  const { create, single, get, pool, patch, delete: removal, toSingle, toPool, lists } = figures;
  const { first, cursor, total } = lists;
  const lower = { better: 'lower' } as const;
  return [
    line(BENCH, 'create-to-single-commits', {
      ...lower,
      ratio: toSingle,
      target: 0.65,
      server_us: create.server,
      bare_us: single.server,
    }),
    line(BENCH, 'get-to-pool', { ...lower, ratio: toPool, target: 0.65, server_us: get.server, bare_us: pool.server }),
    atMost('create-client', 'us', create.client, 75, { bare_us: single.client }),
    atMost('get-client', 'us', get.client, 30, { bare_us: pool.client }),
    atMost('patch-client', 'us', patch.client, 80),
    line(BENCH, 'delete-client', { us: removal.client }),
    atMost('patch-server', 'us', patch.server, 200),
    atMost('delete-server', 'us', removal.server, 140),
    line(BENCH, 'cursor-page', {
      ...lower,
      ratio: cursor.server / first.server,
      target: 1.5,
      server_us: cursor.server,
      ms: cursor.ms,
      first_ms: first.ms,
    }),
    atMost(total.isCapped ? 'capped-total' : 'total', 'ms', total.ms, 15, { server_us: total.server }),
  ];
}

/**
 * Two daemons beside their database must create 0.6 × as many tokens as they did with a log for each (commit a26cc64c):
 * 0.6 × 5,101 a second, when one daemon of this build created 3,947 on the same machine.
 */
const MIN_BESIDE = 0.78;

/** Returns the lines about two daemons. */
type DaemonFigures = Awaited<ReturnType<typeof measureDaemons>>;

function daemonLines({ create, get, delayed, pauses }: DaemonFigures): readonly Line[] {
  const processor = (name: string, { processorRatio, one, two }: DaemonFigures['create']) =>
    line(BENCH, `two-daemons-${name}`, {
      ratio: processorRatio,
      better: 'lower',
      target: 1.1,
      us: two.processor,
      server_us: two.server,
      one_us: one.processor,
      per_second: two.rate,
      one_per_second: one.rate,
    });
  const rate = (name: string, { rateRatio, one, two }: DaemonFigures['create'], target: number) =>
    line(BENCH, `two-daemons-${name}`, {
      ratio: rateRatio,
      target,
      per_second: two.rate,
      one_per_second: one.rate,
    });
  return [
    processor('create', create),
    processor('get', get),
    rate('beside', create, MIN_BESIDE),
    rate('delayed', delayed, 1.5),
    atMost('stopped-daemon', 'ms', Math.max(...pauses), 1000, { median_ms: median(pauses) }),
  ];
}

/**
 * Measures the PostgreSQL store beside the same statements without it, with `tokens` tokens, and two daemons beside
 * one. Processor time of the server includes all its processes. Starts a server of its own.
 */
export function postgres({
  rounds,
  seconds,
  tokens,
}: Record<'rounds' | 'seconds' | 'tokens', number>): Promise<CaseResult> {
  return withPostgres(async (server) => {
    const store = await measureStore(server, { rounds, seconds, tokens });
    const daemons = await measureDaemons(server, { rounds, seconds });
    const rows = [
      ...storeLines(store),
      ...daemonLines(daemons),
      ...sizeLines(BENCH, store.sizes),
      line(BENCH, 'log-of-a-create', { bytes: store.log }),
    ];
    const missed = rows.filter(({ reached }) => reached === false).map((row) => row.case);
    const verdict = missed.length === 0 ? 'all targets reached' : `targets missed: ${missed.join(', ')}`;
    const size = `${CONNECTIONS} calls at a time, ${rounds} rounds, ${tokens} tokens`;
    return { title: `PostgreSQL ${server.version}, ${size}; Node ${process.versions.node}; ${verdict}`, rows };
  });
}
