const WINDOW_MS = 1_000;
const PEERS_BEFORE_PRUNING = 1_024;

/** Counts a peer's failed authentications. */
export interface FailureLimit {
  /** True while a further failure of the peer is to be answered with 429. */
  exceeded(peer: string): boolean;
  failed(peer: string): void;
}

/**
 * After `failures` within a second, counted from a peer's first, its further ones are told to wait until that second has
 * passed. Good keys pass: all callers of one machine are one peer, and none of them may lock the others out.
 */
export function createFailureLimit(
  failures: number,
  now: () => number = performance.now.bind(performance),
): FailureLimit {
  const windows = new Map<string, { readonly start: number; count: number }>();

  return {
    exceeded(peer) {
      const window = windows.size === 0 ? undefined : windows.get(peer);
      if (window === undefined) return false;
      if (now() - window.start < WINDOW_MS) return window.count >= failures;
      windows.delete(peer);
      return false;
    },
    failed(peer) {
      const at = now();
      const window = windows.get(peer);
      if (window !== undefined && at - window.start < WINDOW_MS) {
        window.count += 1;
        return;
      }
      if (windows.size >= PEERS_BEFORE_PRUNING) {
        for (const [other, { start }] of windows) if (at - start >= WINDOW_MS) windows.delete(other);
      }
      windows.set(peer, { start: at, count: 1 });
    },
  };
}
