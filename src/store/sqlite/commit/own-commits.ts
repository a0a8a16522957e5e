import { randomBytes } from 'node:crypto';
import type { ChangeMark } from '../../../core/maintenance-ports.ts';

const RANDOM_BYTES = 16;
const FROM_BYTES = 8;
const NOTHING = new Uint8Array();

/** Returns a keyed hash, as `Keyring.commitMark` does. */
export type Chain = (
  previous: Uint8Array,
  entry: { readonly sequence: number; readonly at: number; readonly sealed: Uint8Array },
) => Uint8Array;

/**
 * Recognizes the commits of writer threads, which touch no tenant, application or key. Other commits leave a mark of 16
 * random bytes in the file. From its second consecutive commit on, a thread leaves this mark:
 *
 *     random (16) | FROM (8): all commits after this number are the thread's | keyed hash of both and the number of the commit
 *
 * The hash prevents an edit of the file from hiding a change by another process.
 */
export class OwnCommits {
  readonly #chain: Chain;
  #from = 0;
  #to = -1;

  constructor(chain: Chain) {
    this.#chain = chain;
  }

  /**
   * Returns the mark of the thread's next commit. Returns null for its first commit and after a commit by another
   * process (`alone` is false), since the number of the next commit is then unknown.
   */
  nextMark(alone: boolean): Buffer | null {
    if (!alone) this.#to = -1;
    return this.#to === -1 ? null : this.#markOf(randomBytes(RANDOM_BYTES), this.#from, this.#to + 1);
  }

  /** Records the number of the commit that was made with `nextMark`. */
  note(counter: number): void {
    if (this.#to === -1) this.#from = counter;
    this.#to = counter;
  }

  /**
   * Returns whether all commits after number `from`, up to the commit with this mark, belong to a writer thread.
   * Returns false if there are none.
   */
  include(from: number, { counter, mark }: ChangeMark): boolean {
    if (from >= counter || mark.length <= RANDOM_BYTES + FROM_BYTES) return false;
    const own = Number(Buffer.from(mark).readBigUInt64BE(RANDOM_BYTES));
    return from >= own && this.#markOf(mark.subarray(0, RANDOM_BYTES), own, counter).equals(mark);
  }

  #markOf(random: Uint8Array, from: number, counter: number): Buffer {
    const start = Buffer.alloc(FROM_BYTES);
    start.writeBigUInt64BE(BigInt(from));
    return Buffer.concat([random, start, this.#chain(random, { sequence: counter, at: from, sealed: NOTHING })]);
  }
}
