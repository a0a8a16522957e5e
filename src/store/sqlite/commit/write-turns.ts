import { setTimeout as sleep } from 'node:timers/promises';

/** The memory that two threads share through `WriteTurns`. */
export type TurnCells = Int32Array<SharedArrayBuffer>;

/** The other tries every few milliseconds, but its event loop may be busy. One that never comes must not hold this one up for long. */
const MAX_WAIT_MS = 80;

/**
 * Two connections of one process that write to a file take turns. SQLite gives its lock to whoever asks in the moment in which
 * it is free, and who has just let go is there first: beside one that always has something to write, the other would wait
 * for seconds when syncs are slow.
 */
export class WriteTurns {
  readonly cells: TurnCells;
  readonly #own: 0 | 1;

  /** Both sides have the same cells, and each its own place in them. */
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

  /** Resolves when the other side, if it waits, has had its turn, or has not come for it. */
  async otherFirst(): Promise<void> {
    if (!this.#otherWaits) return;
    this.wait();
    const deadline = performance.now() + MAX_WAIT_MS;
    while (this.#otherWaits && performance.now() < deadline) await sleep(1);
  }

  get #otherWaits(): boolean {
    return Atomics.load(this.cells, 1 - this.#own) === 1;
  }
}
