import { Problem } from '../core/problem.ts';

/** The number of failed authentications in a second after which a peer gets 429. */
export const FAILURES_A_SECOND = 20;

const WINDOW_MS = 1_000;
const PEERS_BEFORE_PRUNING = 1_024;

/**
 * Counts a failed authentication of a peer. Returns the problem `too_many_requests` when the peer exceeds its limit.
 */
export type CountFailure = (peer: string) => Problem | undefined;

/**
 * Creates a counter of failed authentications. After `failures` within a second of a peer's first failure, the peer's
 * further failures get 429 until that second has passed. Valid keys always pass: all callers on one machine count as
 * one peer, and no caller may lock the others out.
 */
export function createFailureLimit(failures: number): CountFailure {
  const windows = new Map<string, { readonly start: number; count: number }>();

  return (peer) => {
    const at = performance.now();
    const window = windows.get(peer);
    if (window !== undefined && at - window.start < WINDOW_MS) {
      if (window.count >= failures) return new Problem('too_many_requests');
      window.count += 1;
      return undefined;
    }
    if (windows.size >= PEERS_BEFORE_PRUNING) {
      for (const [other, { start }] of windows) if (at - start >= WINDOW_MS) windows.delete(other);
    }
    windows.set(peer, { start: at, count: 1 });
    return undefined;
  };
}
