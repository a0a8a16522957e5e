import { setTimeout } from '../core/timers.ts';
import { networkOf } from './network-of.ts';

/** The maximum number of lines of an address, or of a network of IPv6, in one minute. */
export const MAX_LINES = 100;
const WINDOW_MS = 60_000;
/** The maximum number of addresses that are counted apart. All further ones count as one. */
const MAX_PEERS = 10_000;
const OTHERS = 'others';

/**
 * Counts the lines that each address causes in a minute. Anybody can send requests without a key, and their lines would
 * fill the disk. At the end of the minute, `report` receives the number of lines beyond `MAX_LINES` of each address.
 */
export function createLineLimit(report: (peer: string, requests: number) => void) {
  let counts = new Map<string, number>();

  /** Ends the minute early, for example when the process exits. */
  function end(): void {
    const ended = counts;
    counts = new Map();
    for (const [peer, count] of ended) if (count > MAX_LINES) report(peer, count - MAX_LINES);
  }

  return {
    end,
    /** Counts a line of an address. Returns whether to write it. */
    count(address: string): boolean {
      const peer = networkOf(address);
      if (counts.size === 0) setTimeout(end, WINDOW_MS).unref();
      const key = counts.has(peer) || counts.size < MAX_PEERS ? peer : OTHERS;
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      return count <= MAX_LINES;
    },
  };
}
