/** Where `OwnCommits` keeps what two threads share. */
export type CommitCells = BigInt64Array<SharedArrayBuffer>;

const FROM = 0;
const TO = 1;

/**
 * Which commits of the file a writer thread of this process has made, by the counter in the table `change`: none of them
 * touches a tenant, an application or a key. The thread notes; whoever reads on another connection, to which `data_version` only
 * says that there were commits, asks.
 *
 * The cells say: all commits behind FROM, up to TO. Both only grow. The thread sets FROM first and the reader reads TO first, so
 * that whatever comes between them makes the range that is read too small, never too large.
 */
export class OwnCommits {
  readonly cells: CommitCells;

  constructor(cells: CommitCells = new BigInt64Array(new SharedArrayBuffer(16))) {
    this.cells = cells;
  }

  /**
   * To be called after the commit: before it, it could still be another's. `alone` when nobody else has changed the file since
   * the thread's last commit. What somebody does to it by other means need not count: so none up to this one is known then.
   */
  note(counter: number, alone: boolean): void {
    const commit = BigInt(counter);
    if (!alone || Atomics.load(this.cells, TO) !== commit - 1n) Atomics.store(this.cells, FROM, commit);
    Atomics.store(this.cells, TO, commit);
  }

  /** True when there are commits behind `from`, up to `to`, and all are the thread's. */
  include(from: number, to: number): boolean {
    if (from >= to || BigInt(to) > Atomics.load(this.cells, TO)) return false;
    return BigInt(from) >= Atomics.load(this.cells, FROM);
  }
}
