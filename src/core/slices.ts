import { runningTime } from './running-time.ts';
import { setImmediate } from './timers.ts';

/** The maximum work in one tick of the event loop, until other calls get their slice. */
const SLICE_MS = 10;
/** The maximum bytes of sealed values that are opened in one tick. */
const SLICE_BYTES = 1024 * 1024;

/** The callers that wait for a slice, by account. The first account is the next one. */
const waiting = new Map<string, (() => void)[]>();

/** The work of this tick: when it began, and the bytes opened since. Undefined before its first step. */
let work: { readonly began: number; bytes: number } | undefined;

/**
 * Resolves in a tick of the event loop that no other caller of this function shares. Long work awaits it before each
 * step of some milliseconds, so other calls wait for one step only, whatever the number of callers. The accounts
 * alternate, so the calls of one do not delay those of another.
 */
export function ownSlice(account = ''): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (waiting.size === 0) setImmediate(giveSlice);
  const line = waiting.get(account);
  if (line === undefined) waiting.set(account, [resolve]);
  else line.push(resolve);
  return promise;
}

function giveSlice(): void {
  const [[account, line] = ['', []]] = waiting;
  line.shift()?.();
  waiting.delete(account);
  if (line.length > 0) waiting.set(account, line);
  if (waiting.size > 0) setImmediate(giveSlice);
}

/** Begins a slice for the calls of a tick, whatever slices the tick has given before. */
export function beginSlice(): void {
  if (work === undefined) {
    setImmediate(() => {
      work = undefined;
    });
  }
  work = { began: runningTime(), bytes: 0 };
}

/** Returns whether the slice has time left for another call. */
export function hasTimeLeft(): boolean {
  if (work === undefined) {
    beginSlice();
    return true;
  }
  return runningTime() - work.began < SLICE_MS && work.bytes < SLICE_BYTES;
}

/**
 * Returns undefined while the tick has time left, else the promise of a slice. Call it before each step of long work,
 * with the bytes that the step opens. Start the step at once when it returns undefined: after an `await`, many callers
 * would start their steps in the same tick.
 */
export function nextSlice(account?: string, bytes = 0): Promise<void> | undefined {
  const isOver = !hasTimeLeft();
  if (work !== undefined) work.bytes += bytes;
  return isOver ? ownSlice(account) : undefined;
}
