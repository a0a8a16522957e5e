import { runningTime, sleep } from '../../../core/timers.ts';

/** The memory that two threads share through `WriteTurns`. */
export type TurnCells = Int32Array<SharedArrayBuffer>;

/**
 * The maximum wait for the other side's turn, in milliseconds. The other side tries for the lock every few
 * milliseconds, unless its event loop is busy.
 */
const MAX_WAIT_MS = 80;

/**
 * Alternates two writing connections of one process. SQLite gives a free lock to the first connection that asks,
 * usually the one that has just released it. Without turns, the other connection would wait for seconds when syncs are
 * slow.
 */
export class WriteTurns {
  readonly cells: TurnCells;
  readonly #own: 0 | 1;

  /** Both sides share `cells`; `side` is the index of this side's cell. */
  constructor(side: 0 | 1, cells: TurnCells = new Int32Array(new SharedArrayBuffer(8))) {
    this.cells = cells;
    this.#own = side;
  }

  /** Announces that this side wants the lock. */
  wait(): void {
    Atomics.store(this.cells, this.#own, 1);
  }

  /** Announces that this side has had its turn, or no longer wants one. */
  done(): void {
    Atomics.store(this.cells, this.#own, 0);
  }

  /** Resolves at once if the other side does not want the lock, else after its turn or after MAX_WAIT_MS. */
  async otherFirst(): Promise<void> {
    if (!this.#otherWaits) return;
    this.wait();
    const deadline = runningTime() + MAX_WAIT_MS;
    while (this.#otherWaits && runningTime() < deadline) await sleep(1);
  }

  get #otherWaits(): boolean {
    return Atomics.load(this.cells, 1 - this.#own) === 1;
  }
}
