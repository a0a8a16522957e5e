import { Problem } from '../core/problem.ts';
import { runningTime } from '../core/running-time.ts';
import { createForgetfulMap } from './forgetful-map.ts';
import { networkOf } from './network-of.ts';

/** The number of failed authentications in a second after which a peer gets 429. */
const FAILURES_A_SECOND = 20;

const WINDOW_MS = 1_000;

/**
 * Returns a function that counts a failed authentication of a peer. After `FAILURES_A_SECOND` within a second of a
 * peer's first failure, it returns the problem `too_many_requests` until that second has passed. Valid keys always pass:
 * all callers on one machine count as one peer, and no caller may lock the others out.
 */
export function createFailureLimit() {
  const isOver = ({ start }: { readonly start: number }) => runningTime() - start >= WINDOW_MS;
  const windows = createForgetfulMap<{ readonly start: number; count: number }>(isOver);

  return (address: string): Problem | undefined => {
    const peer = networkOf(address);
    const window = windows.get(peer);
    if (window !== undefined && !isOver(window)) {
      if (window.count >= FAILURES_A_SECOND) return new Problem('too_many_requests');
      window.count += 1;
      return undefined;
    }
    windows.set(peer, { start: runningTime(), count: 1 });
    return undefined;
  };
}
