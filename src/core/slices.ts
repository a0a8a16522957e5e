import { runningTime, setImmediate } from './timers.ts';

/** The maximum work in one tick of the event loop, until other calls get their slice. */
const SLICE_MS = 10;
/** The maximum bytes of sealed values that are opened in one tick. */
const SLICE_BYTES = 1024 * 1024;

/** The maximum time that work waits for new connections, in milliseconds. */
const ARRIVALS_MS = 40;

/** The number of new connections, and whether this turn of the event loop or the one before accepted one. */
let [arrivals, isArriving] = [0, false];

/** The callers that wait for a slice, by account. The first account gets the next slice. */
const waiting = new Map<string, (() => void)[]>();

/** The work of this tick: its start, and the bytes opened since. Undefined before its first step. */
let work: { readonly began: number; bytes: number } | undefined;

/**
 * Resolves in a tick of the event loop that no other caller of this function shares. Long work awaits it before each
 * step of some milliseconds, so other calls wait for one step only, even if many callers work. The accounts alternate,
 * so the calls of one account do not delay those of another.
 */
export function ownSlice(account = ''): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (waiting.size === 0) afterArrivals(giveSlice);
  const queue = waiting.get(account);
  if (queue === undefined) waiting.set(account, [resolve]);
  else queue.push(resolve);
  return promise;
}

function giveSlice(): void {
  const [[account, queue] = ['', []]] = waiting;
  queue.shift()?.();
  waiting.delete(account);
  if (queue.length > 0) waiting.set(account, queue);
  if (waiting.size > 0) afterArrivals(giveSlice);
}

/** Notes a new connection. */
export function noteArrival(): void {
  const noted = ++arrivals;
  isArriving = true;
  setImmediate(() =>
    setImmediate(() => {
      if (noted === arrivals) isArriving = false;
    }),
  );
}

/**
 * Calls `task` at the end of this turn of the event loop. While connections arrive, calls it up to 40 ms later:
 * a turn accepts one connection only, so each of many would wait for as many slices as connections before it.
 */
export function afterArrivals(task: () => void): void {
  let began: number | undefined;
  setImmediate(function look() {
    if (isArriving) {
      began ??= runningTime();
      if (runningTime() - began < ARRIVALS_MS) {
        setImmediate(look);
        return;
      }
    }
    task();
  });
}

/**
 * Begins a slice of the whole length in this tick. The calls that arrive together share one; without it, long work that
 * uses up each tick before them would delay them until its end. The bytes of the tick go on.
 */
export function beginSlice(): void {
  if (work === undefined) {
    setImmediate(() => {
      work = undefined;
    });
  }
  work = { began: runningTime(), bytes: work?.bytes ?? 0 };
}

/** Returns whether the tick has time left for another call, whatever took its time. */
export function hasTimeLeft(): boolean {
  if (work === undefined) {
    beginSlice();
    return true;
  }
  return runningTime() - work.began < SLICE_MS;
}

/**
 * Returns undefined while the tick has time left, else the promise of a slice. Call it before each step of long work,
 * with the bytes that the step opens; only steps that open some wait for other bytes. Start the step at once when it
 * returns undefined: after an `await`, many callers would start their steps in the same tick.
 */
export function nextSlice(account?: string, bytes = 0): Promise<void> | undefined {
  const isFull = bytes > 0 && work !== undefined && work.bytes >= SLICE_BYTES;
  const isOver = !hasTimeLeft() || isFull;
  if (work !== undefined) work.bytes += bytes;
  return isOver ? ownSlice(account) : undefined;
}
