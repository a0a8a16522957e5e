import type { ServedVault } from '../scripts/run-vault.ts';
import { bareServer } from './bare-server.ts';
import { median, percentile, processorSeconds } from './figures.ts';
import { inTurn, load, once, type Statuses } from './load.ts';
import type { openRawCopy } from './raw-sqlite.ts';
import { inEitherOrder, inRounds } from './rounds.ts';

/**
 * More requests than a server answers in a second. A round with requests that are sent only once thus never runs out of
 * them.
 */
const MAX_PER_SECOND = 30_000;

/** The length of a round: requests, and seconds. */
export interface RoundSize {
  readonly most: number;
  readonly seconds: number;
}

/** Makes the requests of a round: `most` of those that are sent once; others start again after the last. */
export type MakeRequests<V> = (vault: V, most: number, roundsLeft: number) => readonly Buffer[];

/** A case beside the bare server. */
interface BareCase<V> {
  readonly case: string;
  readonly requests: MakeRequests<V>;
  /** Whether each request is sent only once. */
  readonly once?: boolean;
  readonly expected?: Statuses;
  readonly raw?: object;
}

interface BareOptions<V> {
  readonly vault: V;
  readonly daemon: Pick<ServedVault, 'port' | 'pid' | 'stderr'>;
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUp: RoundSize | undefined;
  readonly rawCopy: ReturnType<typeof openRawCopy> | undefined;
}

interface Round extends RoundSize {
  readonly requests: readonly Buffer[];
  readonly expected: Statuses;
}

/** Sends the requests of one round to one server. */
async function measure({ port, pid }: Pick<ServedVault, 'port' | 'pid'>, { requests, most, expected, seconds }: Round) {
  const before = processorSeconds(pid);
  const { count, times, client, ...took } = await load({ port, seconds, expected, next: inTurn(requests, { most }) });
  const processor = ((processorSeconds(pid) - before) / count) * 1e6;
  const p50 = percentile(times, 0.5);
  return { rate: count / took.seconds, p50, p99: percentile(times, 0.99), client, processor };
}

/**
 * Returns raw SQLite's processor time per token, divided by `processor` (in µs). Sums all rounds, because the time of a
 * few tokens is too short to measure.
 */
function rawProcessor(inserted: readonly Record<'tokens' | 'processor', number>[], processor: number): number {
  const sum = (member: 'tokens' | 'processor') => inserted.reduce((all, each) => all + each[member], 0);
  return ((sum('processor') / sum('tokens')) * 1e6) / processor;
}

/**
 * Measures one case. Each round sends the same requests to the daemon and to the bare server, in alternating order.
 * Ratios are computed per round; all figures are medians, and NaN if unknown. One warm-up round comes first: with the same size, or with at
 * most `warmUp.most` requests in `warmUp.seconds`. `cpu_ratio` compares the processor time per request, which depends
 * less on other load on the machine.
 */
export async function againstBare<V>(row: BareCase<V>, options: BareOptions<V>) {
  const { vault, daemon, rounds, seconds, warmUp, rawCopy } = options;
  const { requests: makeRequests, once: isOnce = false, expected = 200 } = row;
  const [first] = makeRequests(vault, 1, Number.POSITIVE_INFINITY);
  if (first === undefined) throw new Error(`${row.case}: no request`);
  const answer = await once(daemon.port, first);
  if (![expected].flat().includes(answer.status)) throw new Error(`${row.case}: ${answer.status} ${answer.body}`);
  const bare = await bareServer(answer, first);

  async function measureRound(round: number) {
    const size = round < 0 && warmUp ? warmUp : { most: Math.ceil(MAX_PER_SECOND * seconds), seconds };
    const requests = makeRequests(vault, size.most, rounds - round);
    const runs = {
      own: () => measure(daemon, { ...size, requests, most: isOnce ? requests.length : size.most, expected }),
      bare: () => measure(bare, { ...size, requests, expected: answer.status }),
    };
    const named = (name: 'own' | 'bare') => () =>
      runs[name]().catch((cause) => {
        throw new Error(`${row.case}, ${name}, round ${round}: ${cause}; ${daemon.stderr()}`, { cause });
      });
    const [own, other] = await inEitherOrder(round, named('own'), named('bare'));
    return { own, bare: other, inserted: row.raw && rawCopy?.catchUp() };
  }

  const { done, of } = await inRounds(rounds, measureRound).finally(bare.stop);
  const [p50, p99, processor] = [of(({ own }) => own.p50), of(({ own }) => own.p99), of(({ own }) => own.processor)];
  const stored = done.flatMap(({ own, inserted }) => (inserted ? [{ own, inserted }] : []));
  return {
    ratio: of(({ own, bare: other }) => own.rate / other.rate),
    cpu_ratio: of(({ own, bare: other }) => other.processor / own.processor),
    raw: {
      ratio: median(stored.map(({ own, inserted }) => own.rate / (inserted.tokens / inserted.seconds))),
      cpu_ratio: rawProcessor(
        stored.map(({ inserted }) => inserted),
        processor,
      ),
    },
    per_second: of(({ own }) => own.rate),
    bare_per_second: of(({ bare: other }) => other.rate),
    p50_ms: p50,
    p99_ms: p99,
    p99_to_p50: p99 / p50,
    cpu_us: processor,
    bare_cpu_us: of(({ bare: other }) => other.processor),
    client_cpu: of(({ own }) => own.client),
  };
}
