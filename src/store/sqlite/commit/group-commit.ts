import { Problem } from '../../../core/problem.ts';
import { endOfTick, nextTick, runningTime } from '../../../core/timers.ts';
import { COMMITS } from '../../rows/channels.ts';
import { isBusy, vaultBusy } from '../file/sqlite-error.ts';
import { BUSY_DEADLINE_MS, busyPause } from './busy-retry.ts';
import type { WriteTurns } from './write-turns.ts';

/** Runs one transaction at a time on one connection. Each call is synchronous. */
export interface Transactions {
  begin(): void;
  commit(): void;
  /** Does nothing when there is no transaction. */
  rollback(): void;
}

export interface GroupCommitOptions {
  /** The maximum number of writes in a commit. */
  readonly size?: number;
  /** How long a write waits for another process's lock, in milliseconds. */
  readonly deadlineMs?: number;
}

interface Write {
  readonly deadline: number;
  /**
   * Performs the write inside a transaction. Returns a function that resolves the caller's promise after the commit.
   */
  readonly execute: () => () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The default maximum number of writes in a commit. A batch of this size takes a few milliseconds of the event loop.
 */
const BATCH_SIZE = 128;

/**
 * Commits writes in batches: a commit waits for the disk, and writes that arrive meanwhile share the next commit.
 *
 *     run(a) run(b) ─┐ settled promises have run
 *                    └─ BEGIN a b COMMIT ─ resolve a, b
 *            run(c) run(d) run(e) ─────────── BEGIN c d e COMMIT ─ resolve c, d, e
 *
 * Invariants:
 *
 * - A caller's promise resolves only after the commit of its write. Writes run in the order of their arrival.
 * - A write that throws undoes only itself: the batch is rolled back, and its writes run again one by one. A write must
 *   therefore depend only on the database.
 * - While another process holds the lock the event loop is free. A write that misses its deadline rejects with
 *   `vault_busy`.
 */
export class GroupCommit {
  readonly #transactions: Transactions;
  readonly #size: number;
  readonly #deadlineMs: number;
  #waiting: Write[] = [];
  #draining: Promise<void> | undefined;
  #turns: WriteTurns | undefined;
  #isAlone = () => false;
  #closed = false;

  constructor(transactions: Transactions, options: GroupCommitOptions = {}) {
    this.#transactions = transactions;
    this.#size = options.size ?? BATCH_SIZE;
    this.#deadlineMs = options.deadlineMs ?? BUSY_DEADLINE_MS;
  }

  run<T>(write: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#closed) throw new Problem('vault_stopping', { retryAfter: 1 });
      const execute = () => {
        const result = write();
        return () => resolve(result);
      };
      this.#waiting.push({ deadline: runningTime() + this.#deadlineMs, execute, reject });
      this.#draining ??= this.#drain();
    });
  }

  /**
   * Makes this connection alternate with another writing connection of this process. `isAlone` returns whether the
   * other one has nothing to write. Default: it may always have.
   */
  takeTurns(turns: WriteTurns, isAlone = () => false): void {
    this.#turns = turns;
    this.#isAlone = isAlone;
  }

  /** Stops accepting writes. Resolves when all accepted writes are settled. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#draining;
  }

  async #drain(): Promise<void> {
    let refusals = 0;
    while (this.#waiting.length > 0) {
      await this.#pause(refusals);
      const refused = this.#commit(this.#waiting.splice(0, this.#size));
      refusals = refused.length > 0 ? refusals + 1 : 0;
      this.#waiting = [...refused, ...this.#waiting];
      if (refusals > 0) this.#rejectOverdue();
      if (refusals > 0 && this.#waiting.length > 0) this.#turns?.wait();
      else this.#turns?.done();
    }
    this.#draining = undefined;
  }

  async #pause(refusals: number): Promise<void> {
    // With turns, the lock is free again soon; a growing pause would leave it unused.
    if (refusals > 0) return busyPause(this.#turns === undefined ? refusals : 1);
    // Concurrent callers call in one run of promises, so a single tick collects their writes.
    if (this.#turns === undefined || this.#isAlone()) return new Promise((resolve) => nextTick(resolve));
    await this.#turns.otherFirst();
    // Under load, wait one tick of the event loop, so that all messages that have arrived join this batch.
    await endOfTick();
  }

  /**
   * Runs the batch in one transaction and settles its writes. Returns the writes that another process's lock blocked;
   * they are not settled.
   */
  #commit(batch: readonly Write[]): readonly Write[] {
    const settle: (() => void)[] = [];
    const begun = COMMITS.hasSubscribers ? runningTime() : undefined;
    try {
      this.#transactions.begin();
      for (const write of batch) settle.push(write.execute());
      this.#transactions.commit();
    } catch (error) {
      this.#transactions.rollback();
      if (isBusy(error)) return batch;
      const hasRun = settle.length === batch.length;
      if (!hasRun && batch.length > 1) return this.#commitOneByOne(batch);
      for (const write of batch) write.reject(error);
      return [];
    }
    for (const resolve of settle) resolve();
    if (begun !== undefined) COMMITS.publish(batch.map(({ deadline }) => begun - (deadline - this.#deadlineMs)));
    return [];
  }

  #commitOneByOne(batch: readonly Write[]): readonly Write[] {
    for (const [index, write] of batch.entries()) {
      // Writes after a blocked one wait with it, which keeps the order.
      if (this.#commit([write]).length > 0) return batch.slice(index);
    }
    return [];
  }

  #rejectOverdue(): void {
    const now = runningTime();
    const overdue = this.#waiting.filter((write) => write.deadline <= now);
    this.#waiting = this.#waiting.filter((write) => write.deadline > now);
    for (const write of overdue) write.reject(vaultBusy(undefined));
  }
}
