import {
  clearImmediate,
  clearTimeout,
  runningTime,
  setImmediate,
  setTimeout,
  type TaskHandle,
} from '../../../core/timers.ts';
import { sqliteCode } from '../file/sqlite-error.ts';

/**
 * How long after the last write the log is emptied, in milliseconds. The time is shorter when the log contains removed
 * values.
 */
const QUIET_MS = { removed: 200, added: 2000 } as const;

/** The minimum time between two attempts to empty the log on a full disk, in milliseconds. */
const NO_SPACE_PAUSE_MS = 500;

/** The maximum time between a write and the next emptying of the log under constant writing, in milliseconds. */
const MAX_WAIT_MS = 5000;

/**
 * Empties the write-ahead log some time after writes. `secure_delete` cleans the file, but the log keeps old pages
 * until it is truncated. Truncating it after every delete would cost three syncs each time. After writes that removed
 * nothing, the log may keep its length: overwriting is faster than appending.
 */
export class Checkpointer {
  readonly #empty: (keepLength: boolean) => boolean;
  /** Whether the log contains removed values. */
  #hasRemoved = false;
  /** Set while the log waits to be emptied. */
  #waiting: { readonly task?: TaskHandle; readonly timer?: NodeJS.Timeout } | undefined;
  #askedAt = 0;
  #attemptedAt = Number.NEGATIVE_INFINITY;
  #writtenAt = 0;
  #quiet: number = QUIET_MS.added;

  /** `empty` empties the log. It returns false, or throws, when another connection blocks it. */
  constructor(empty: (keepLength: boolean) => boolean) {
    this.#empty = empty;
  }

  afterWrite(kind: 'removed' | 'added'): void {
    this.#writtenAt = runningTime();
    if (kind === 'removed') this.#hasRemoved = true;
    if (this.#waiting !== undefined && QUIET_MS[kind] >= this.#quiet) return;
    if (this.#waiting === undefined) this.#askedAt = this.#writtenAt;
    this.#quiet = QUIET_MS[kind];
    this.#wait(this.#quiet);
  }

  /** Tries to empty the log after a write found no space: the log itself may fill the disk. */
  afterNoSpace(): void {
    if (runningTime() - this.#attemptedAt >= NO_SPACE_PAUSE_MS) this.attempt();
  }

  /** Tries to empty the log now and returns whether it succeeded. Otherwise schedules another attempt. */
  attempt(keepLength = false): boolean {
    let done = false;
    this.#attemptedAt = runningTime();
    try {
      done = this.#empty(keepLength);
      if (done && !keepLength) this.#hasRemoved = false;
    } catch (error) {
      // The disk is full or another connection holds a lock. The log loses nothing; the next attempt follows later.
      if (sqliteCode(error) === undefined) throw error;
    }
    if (done) this.stop();
    else this.#wait(this.#quiet);
    return done;
  }

  stop(): void {
    clearImmediate(this.#waiting?.task);
    clearTimeout(this.#waiting?.timer);
    this.#waiting = undefined;
  }

  /**
   * Schedules the next attempt. The timers do not keep the process alive, since `Session.close` also empties the log.
   */
  #wait(ms: number): void {
    this.stop();
    // A command closes the file in the tick of its write, so it needs no timer.
    const task = setImmediate(() => {
      this.#waiting = { timer: setTimeout(() => this.#elapsed(), ms).unref() };
    }).unref();
    this.#waiting = { task };
  }

  #elapsed(): void {
    const now = runningTime();
    const quietFor = now - this.#writtenAt;
    if (quietFor < this.#quiet && now - this.#askedAt < MAX_WAIT_MS) this.#wait(this.#quiet - quietFor);
    else this.attempt(!this.#hasRemoved);
  }
}
