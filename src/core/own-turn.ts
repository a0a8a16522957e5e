import { runningTime } from './running-time.ts';

/** The maximum milliseconds of work in one turn of the event loop, until other requests get their turn. */
export const TURN_MS = 10;

let last: Promise<void> = Promise.resolve();

/** The time when the work of the current turn began; undefined before its first step. */
let began: number | undefined;

/**
 * Resolves in a turn of the event loop that no other caller of this function shares. Long work awaits it before each
 * step of some milliseconds, so other requests wait for one step only, whatever the number of callers.
 */
export function ownTurn(): Promise<void> {
  last = last.then(() => new Promise((resolve) => setImmediate(resolve)));
  return last;
}

/**
 * Returns a promise of a turn of its own when the current turn took TURN_MS or longer, whatever it did, else undefined.
 * Call it before each step of long work. Start the step at once when it returns undefined: after an `await`, many
 * callers would start their steps in the same turn.
 */
export function nextTurn(): Promise<void> | undefined {
  if (began === undefined) {
    began = runningTime();
    setImmediate(() => {
      began = undefined;
    });
    return undefined;
  }
  return runningTime() - began < TURN_MS ? undefined : ownTurn();
}
