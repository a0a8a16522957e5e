import type { ServedVault } from '../scripts/run-vault.ts';
import type { MakeRequests } from './against-bare.ts';
import { processorSeconds } from './figures.ts';
import { CONNECTIONS, inTurn, load, type Statuses } from './load.ts';
import { inRounds } from './rounds.ts';

/** The number of items in a batch. */
export const BATCH = 100;

/** A case that compares batches with single requests. */
interface BatchCase<V> {
  readonly batch: MakeRequests<V>;
  readonly single: MakeRequests<V>;
  readonly expected?: Statuses;
}

interface BatchOptions<V> {
  readonly vault: V;
  readonly daemon: Pick<ServedVault, 'port' | 'pid'>;
  readonly rounds: number;
  readonly seconds: number;
}

interface Turn {
  readonly requests: readonly Buffer[];
  readonly items: number;
  readonly connections: number;
  readonly expected: Statuses;
}

async function measure({ port, pid }: BatchOptions<unknown>['daemon'], seconds: number, turn: Turn) {
  const { requests, items, connections, expected } = turn;
  const before = processorSeconds(pid);
  const { count, ...took } = await load({ port, seconds, connections, expected, next: inTurn(requests) });
  const processor = ((processorSeconds(pid) - before) / (count * items)) * 1e6;
  return { rate: (count * items) / took.seconds, processor };
}

/**
 * Measures batches and the same work in single requests, in turn, over all connections and over one. Ratios compare
 * items per second within a round; all figures are medians of the rounds.
 */
export async function againstSingle<V>({ batch, single, expected = 200 }: BatchCase<V>, options: BatchOptions<V>) {
  const { vault, daemon, rounds, seconds } = options;
  async function measureRound(left: number) {
    const turn = (make: MakeRequests<V>, items: number, connections: number) => {
      const most = Math.ceil((30_000 * seconds) / items);
      return measure(daemon, seconds, { requests: make(vault, most, left), items, connections, expected });
    };
    return {
      batch: await turn(batch, BATCH, CONNECTIONS),
      single: await turn(single, 1, CONNECTIONS),
      alone: await turn(single, 1, 1),
    };
  }
  const { of } = await inRounds(rounds, (round) => measureRound(rounds - round));
  return {
    ratio: of(({ batch: all, single: one }) => all.rate / one.rate),
    toOneConnection: of(({ batch: all, alone }) => all.rate / alone.rate),
    per_second: of(({ batch: all }) => all.rate),
    single_per_second: of(({ single: one }) => one.rate),
    one_connection_per_second: of(({ alone }) => alone.rate),
    cpu_us: of(({ batch: all }) => all.processor),
    single_cpu_us: of(({ single: one }) => one.processor),
  };
}
