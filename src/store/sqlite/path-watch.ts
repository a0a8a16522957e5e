import { type BigIntStats, statSync } from 'node:fs';
import { Problem } from '../../core/problem.ts';

/** How long an answer about the path is good for a read, in milliseconds. */
const FRESH_MS = 100;

/**
 * Notices that the path no longer leads to the file that was opened: what is written after that is lost with the unlinked
 * file. Only `stat` is used: reading the file's bytes would drop SQLite's locks.
 */
export class PathWatch {
  readonly #path: string;
  readonly #device: bigint;
  readonly #inode: bigint;
  #checkedAt = Number.NEGATIVE_INFINITY;

  constructor(path: string, opened: BigIntStats) {
    this.#path = path;
    this.#device = opened.dev;
    this.#inode = opened.ino;
  }

  /** Which file was opened: equal for two paths, or two openings, that lead to one file. */
  get identity(): string {
    return `${this.#device}:${this.#inode}`;
  }

  /** Throws `vault_moved`. */
  check(): void {
    const found = statSync(this.#path, { bigint: true, throwIfNoEntry: false });
    if (found === undefined || found.dev !== this.#device || found.ino !== this.#inode) {
      throw new Problem('vault_moved', { retryAfter: 1 });
    }
    this.#checkedAt = performance.now();
  }

  /** The same, but content with a check that is a moment old. */
  checkNowAndThen(): void {
    if (performance.now() - this.#checkedAt > FRESH_MS) this.check();
  }
}
