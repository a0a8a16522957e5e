import { runningTime } from './running-time.ts';
import { setImmediate } from './timers.ts';

/** The maximum milliseconds of work in one turn of the event loop, until other requests get their turn. */
export const TURN_MS = 10;

/** The waiting callers of `ownTurn` by line. The first line is the next one. */
const lines = new Map<string, (() => void)[]>();

/** The time when the work of the current turn began; undefined before its first step. */
let began: number | undefined;

/**
 * Resolves in a turn of the event loop that no other caller of this function shares. Long work awaits it before each
 * step of some milliseconds, so other requests wait for one step only, whatever the number of callers. The lines
 * alternate, so the calls of one application, with its id as line, do not delay those of another.
 */
export function ownTurn(line = ''): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (lines.size === 0) setImmediate(giveTurn);
  const waiting = lines.get(line);
  if (waiting === undefined) lines.set(line, [resolve]);
  else waiting.push(resolve);
  return promise;
}

function giveTurn(): void {
  const [[line, waiting] = ['', []]] = lines;
  waiting.shift()?.();
  lines.delete(line);
  if (waiting.length > 0) lines.set(line, waiting);
  if (lines.size > 0) setImmediate(giveTurn);
}

/**
 * Returns a promise of a turn of its own when the current turn took TURN_MS or longer, whatever it did, else undefined.
 * Call it before each step of long work. Start the step at once when it returns undefined: after an `await`, many
 * callers would start their steps in the same turn. The promise is that of `ownTurn`.
 */
export function nextTurn(line?: string): Promise<void> | undefined {
  if (began === undefined) {
    began = runningTime();
    setImmediate(() => {
      began = undefined;
    });
    return undefined;
  }
  return runningTime() - began < TURN_MS ? undefined : ownTurn(line);
}
