import { median, processorSeconds } from './figures.js';
import { CONNECTIONS, inTurn, load } from './load.js';

/** The number of items in a batch. */
export const BATCH = 100;

async function measure({ port, pid }, seconds, { requests, items, connections, expected }) {
  const before = processorSeconds(pid);
  const { count, ...took } = await load({ port, seconds, connections, expected, next: inTurn(requests) });
  const processor = before === undefined ? undefined : ((processorSeconds(pid) - before) / (count * items)) * 1e6;
  return { rate: (count * items) / took.seconds, processor };
}

/**
 * Measures batches and the same work in single requests, in turn, over all connections and over one. Ratios compare
 * items per second within a round; all figures are medians of the rounds.
 */
export async function againstSingle({ batch, single, expected }, { vault, daemon, rounds, seconds }) {
  const done = [];
  for (let round = -1; round < rounds; round += 1) {
    const turn = (make, items, connections) => {
      const most = Math.ceil((30_000 * seconds) / items);
      return measure(daemon, seconds, { requests: make(vault, most), items, connections, expected });
    };
    const figures = {
      batch: await turn(batch, BATCH, CONNECTIONS),
      single: await turn(single, 1, CONNECTIONS),
      alone: await turn(single, 1, 1),
    };
    if (round >= 0) done.push(figures);
  }
  const of = (figure) => median(done.map(figure));
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
