import { Problem } from '../core/problem.ts';
import { clearTimeout, setTimeout } from '../core/timers.ts';

/** How long a caller waits for its bytes, in milliseconds. */
const MAX_WAIT_MS = 5_000;

export type ByteLine = ReturnType<typeof createByteLine>;

interface Waiting {
  readonly bytes: number;
  readonly admit: () => void;
}

/**
 * Creates a limit on the bytes of one kind that a daemon holds in memory at a time. At most `maxWaiting` callers wait
 * in line for their bytes.
 */
export function createByteLine(limit: number, maxWaiting: number) {
  const waiting = new Set<Waiting>();
  let held = 0;

  function admit(): void {
    for (const one of waiting) {
      if (held > 0 && held + one.bytes > limit) return;
      waiting.delete(one);
      held += one.bytes;
      one.admit();
    }
  }

  return {
    /**
     * Resolves when `bytes` are reserved, in the order of the calls. Rejects with `vault_busy` after 5 s, or at once
     * when too many callers wait.
     */
    enter: (bytes: number) =>
      new Promise<void>((resolve, reject) => {
        if (waiting.size >= maxWaiting) throw busy();
        const timer = setTimeout(() => {
          waiting.delete(one);
          reject(busy());
        }, MAX_WAIT_MS);
        const one: Waiting = {
          bytes,
          admit() {
            clearTimeout(timer);
            resolve();
          },
        };
        waiting.add(one);
        admit();
      }),
    giveBack(bytes: number): void {
      held -= bytes;
      admit();
    },
  };
}

export function busy(): Problem {
  return new Problem('vault_busy', { detail: 'The daemon is reading too many bodies; try again.' });
}
