import { EXPRESSION_STEPS } from '../contract/limits.ts';
import { createWorkBudget, type WorkBudget } from './expressions/limits.ts';
import { Problem } from './problem.ts';
import type { Quota } from './quota.ts';
import { nextSlice, ownSlice } from './slices.ts';
import { type Steps, settled } from './steps.ts';
import { runningTime, setImmediate } from './timers.ts';

/** The maximum duration of the slices of one call, in milliseconds. */
const MAX_WORK_MS = 5_000;

/** The steps of all expressions of one call together, which take about two seconds. */
const CALL_STEPS = 400 * EXPRESSION_STEPS.base;

/** Values and replies of at most this many bytes are not counted. */
const SMALL_BYTES = 64 * 1024;

/** The use of one call: slices of ticks of the event loop, steps of expressions, and bytes of its reply. */
export class Work {
  readonly account: string;
  /** Returns whether the client has left, so that nobody waits for the reply. */
  readonly isAbandoned: () => boolean;
  readonly #replies: Quota;
  #spent = 0;
  /** The start of the current slice; undefined outside of one. */
  #began: number | undefined;
  #steps: WorkBudget | undefined;
  /** The bytes of the reply that are counted. */
  #held = 0;

  constructor(account: string, replies: Quota, isAbandoned: () => boolean = () => false) {
    this.account = account;
    this.#replies = replies;
    this.isAbandoned = isAbandoned;
  }

  /** The budget of all expressions of the call together. Each expression has a budget of its own, too. */
  get steps(): WorkBudget {
    this.#steps ??= createWorkBudget(CALL_STEPS);
    return this.#steps;
  }

  /** The duration of the slices before the current one, in milliseconds. */
  get spent(): number {
    return this.#spent;
  }

  /** Whether bytes of the reply are counted. They count until `release`. */
  get isHeld(): boolean {
    return this.#held > 0;
  }

  /**
   * Returns undefined while the tick has time left, else the promise of a slice. Call it before each step of long work,
   * with the number of sealed bytes that the step opens. The promise rejects with `too_expensive` after 5 s of slices,
   * and with `request_timeout` when the client has left.
   */
  next(bytes = 0): Promise<void> | undefined {
    const slice = nextSlice(this.account, bytes);
    return slice && this.#begin(slice);
  }

  /** Resolves in a slice that no other call shares. Rejects like `next`. */
  own(): Promise<void> {
    return this.#begin(ownSlice(this.account));
  }

  /**
   * Returns undefined while the slice of `own` goes on, else the promise of another one. Call it before the work that
   * follows a read: a store that waits for a server has ended the slice.
   */
  still(): Promise<void> | undefined {
    return this.#began === undefined ? this.own() : undefined;
  }

  /**
   * Counts the bytes of the reply, instead of those counted before. Returns a promise if the account holds too many
   * unread replies: it resolves in a slice, and rejects with `vault_busy` after 5 s or like `next`. Does
   * not wait if the call has made a change, nor if bytes are already counted: two calls that need more would wait for
   * each other.
   */
  hold(bytes: number, hasChanged = false): Promise<void> | undefined {
    const counted = bytes > SMALL_BYTES ? bytes : 0;
    const more = counted - this.#held;
    if (more === 0) return undefined;
    if (more > 0 && this.#held === 0 && !hasChanged) {
      const waiting = this.#replies.take(this.account, more);
      if (waiting !== undefined) {
        return waiting.then(() => {
          this.#held = counted;
          // One released reply may make room for many calls.
          return this.own();
        });
      }
    } else if (more > 0) this.#replies.takeNow(this.account, more);
    else this.#replies.giveBack(this.account, -more);
    this.#held = counted;
    return undefined;
  }

  /** Throws `request_timeout` when the client has left. Long waits call it at their end. */
  endIfAbandoned(): void {
    if (this.isAbandoned()) throw new Problem('request_timeout');
  }

  /**
   * Reads values of a reply, at most `maxBytes`, and counts their bytes before they are opened. Values must not wait
   * in memory: if there may be no room, waits for it first; if others have taken it, drops the values and reads them
   * again.
   */
  *readHeld<T>(maxBytes: number, read: () => Steps<T>, bytesOf: (found: T) => number): Steps<T> {
    if (!this.#replies.mayHold(this.account, maxBytes)) yield* settled(this.hold(maxBytes));
    let found: T | undefined = yield* read();
    const waiting = this.hold(bytesOf(found));
    if (waiting === undefined) return found;
    found = undefined;
    yield* settled(waiting);
    return yield* read();
  }

  release(): void {
    this.#replies.giveBack(this.account, this.#held);
    this.#held = 0;
  }

  async #begin(slice: Promise<void>): Promise<void> {
    this.#end();
    if (this.#spent > MAX_WORK_MS) throw new Problem('too_expensive');
    await slice;
    this.#began = runningTime();
    // A slice ends with its tick: what follows an `await` may be the time of others.
    setImmediate(() => this.#end());
    this.endIfAbandoned();
  }

  #end(): void {
    if (this.#began !== undefined) this.#spent += runningTime() - this.#began;
    this.#began = undefined;
  }
}
