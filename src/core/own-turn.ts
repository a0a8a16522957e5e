import { runningTime } from './running-time.ts';

let last: Promise<void> = Promise.resolve();

/**
 * Resolves in a turn of the event loop that no other caller of this function shares. Long work awaits it before each
 * step of some milliseconds, so other requests wait for one step only, whatever the number of callers.
 */
export function ownTurn(): Promise<void> {
  last = last.then(() => new Promise((resolve) => setImmediate(resolve)));
  return last;
}

/** The maximum milliseconds of work in one turn. */
const PACE_MS = 5;

/**
 * Returns a function to call after each step of long work. The function returns a promise of a new turn when the
 * current turn took PACE_MS or longer, else undefined.
 */
export function createPace(): () => Promise<void> | undefined {
  let since = runningTime();
  return () => {
    if (runningTime() - since < PACE_MS) return undefined;
    return ownTurn().then(() => {
      since = runningTime();
    });
  };
}
