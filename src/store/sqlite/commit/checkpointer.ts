import { sqliteCode } from '../file/sqlite-error.ts';

/** The delay of emptying the log after the last write, in milliseconds: short when it contains old sealed values. */
const QUIET_MS = { removed: 200, added: 2000 } as const;

/** A write that finds no space empties the log, but at most once in this many milliseconds. */
const NO_SPACE_PAUSE_MS = 500;

/** Under constant writing the log is emptied this long after the first write that asked for it. */
const MAX_WAIT_MS = 5000;

/**
 * Empties the write-ahead log some time after writes. `secure_delete` cleans the file, but the log keeps the old pages
 * until it is truncated, and truncating it at every delete would cost three syncs each. After writes that removed
 * nothing the log may keep its length: the next write then overwrites it, which is faster than appending.
 */
export class Checkpointer {
  readonly #empty: (keepLength: boolean) => boolean;
  /** The log holds old sealed values. */
  #hasRemoved = false;
  /** Set while the log waits to be emptied. */
  #waiting: { readonly turn?: NodeJS.Immediate; readonly timer?: NodeJS.Timeout } | undefined;
  #askedAt = 0;
  #attemptedAt = Number.NEGATIVE_INFINITY;
  #writtenAt = 0;
  #quiet: number = QUIET_MS.added;

  /** `empty` empties the log. It returns false, or throws, when another connection blocks it. */
  constructor(empty: (keepLength: boolean) => boolean) {
    this.#empty = empty;
  }

  afterWrite(kind: 'removed' | 'added'): void {
    this.#writtenAt = performance.now();
    if (kind === 'removed') this.#hasRemoved = true;
    if (this.#waiting !== undefined && QUIET_MS[kind] >= this.#quiet) return;
    if (this.#waiting === undefined) this.#askedAt = this.#writtenAt;
    this.#quiet = QUIET_MS[kind];
    this.#wait(this.#quiet);
  }

  /** The log itself may fill the disk: much of it is obsolete and no longer needs space in the file. */
  afterNoSpace(): void {
    if (performance.now() - this.#attemptedAt >= NO_SPACE_PAUSE_MS) this.attempt();
  }

  /** Empties the log now if nothing blocks it; otherwise it stays scheduled. */
  attempt(keepLength = false): boolean {
    let done = false;
    this.#attemptedAt = performance.now();
    try {
      done = this.#empty(keepLength);
      if (done && !keepLength) this.#hasRemoved = false;
    } catch (error) {
      // A full disk or a lock: the log stays without loss, and the next attempt follows later.
      if (sqliteCode(error) === undefined) throw error;
    }
    if (done) this.stop();
    else this.#wait(this.#quiet);
    return done;
  }

  stop(): void {
    clearImmediate(this.#waiting?.turn);
    clearTimeout(this.#waiting?.timer);
    this.#waiting = undefined;
  }

  /** Timers must not keep the process alive: close() empties the log as well. */
  #wait(ms: number): void {
    this.stop();
    // A command closes the file in the turn of its write, so it needs no timer.
    const turn = setImmediate(() => {
      this.#waiting = { timer: setTimeout(() => this.#elapsed(), ms).unref() };
    }).unref();
    this.#waiting = { turn };
  }

  #elapsed(): void {
    const now = performance.now();
    const quietFor = now - this.#writtenAt;
    if (quietFor < this.#quiet && now - this.#askedAt < MAX_WAIT_MS) this.#wait(this.#quiet - quietFor);
    else this.attempt(!this.#hasRemoved);
  }
}
