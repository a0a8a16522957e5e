import type { ProblemCode } from '../../../contract/problems.ts';
import { Problem } from '../../../core/problem.ts';
import { sqliteCode } from '../file/sqlite-error.ts';

/**
 * The messages between the thread that answers calls and the one that writes. A message has the calls of one turn of
 * the event loop: their members in one array, their bytes in one buffer. Passing the objects themselves takes several
 * times as long, and would send the whole memory behind each view of bytes.
 */
export interface WriteMessage {
  readonly cells: readonly Cell[];
  readonly bytes: ArrayBuffer;
}

export type Cell = string | number | undefined;

/** Collects the members of calls. */
export class Outbox {
  readonly #cells: Cell[] = [];
  readonly #parts: Uint8Array[] = [];
  #size = 0;

  put(cell: Cell): void {
    this.#cells.push(cell);
  }

  putBytes(bytes: Uint8Array | undefined): void {
    this.#cells.push(bytes?.length);
    if (bytes === undefined) return;
    this.#parts.push(bytes);
    this.#size += bytes.length;
  }

  /** Appends everything of `call`, or nothing if it throws: other calls must find their parts in place. */
  whole(call: (out: Outbox) => void): void {
    const [cells, parts, size] = [this.#cells.length, this.#parts.length, this.#size];
    try {
      call(this);
    } catch (error) {
      this.#cells.length = cells;
      this.#parts.length = parts;
      this.#size = size;
      throw error;
    }
  }

  message(): WriteMessage {
    const bytes = new Uint8Array(this.#size);
    let at = 0;
    for (const part of this.#parts) {
      bytes.set(part, at);
      at += part.length;
    }
    return { cells: this.#cells, bytes: bytes.buffer };
  }
}

/**
 * Reads the members in the same order. Throws for a member of the wrong kind, which is a bug: both ends have the same
 * build.
 */
export class Inbox {
  readonly #cells: readonly Cell[];
  readonly #bytes: Buffer;
  #cell = 0;
  #byte = 0;

  constructor({ cells, bytes }: WriteMessage) {
    this.#cells = cells;
    this.#bytes = Buffer.from(bytes);
  }

  get isEmpty(): boolean {
    return this.#cell === this.#cells.length;
  }

  text(): string {
    const cell = this.cell();
    if (typeof cell !== 'string') throw new TypeError('a text was expected');
    return cell;
  }

  number(): number {
    const cell = this.cell();
    if (typeof cell !== 'number') throw new TypeError('a number was expected');
    return cell;
  }

  optionalBytes(): Uint8Array | undefined {
    const length = this.cell();
    return length === undefined ? undefined : this.#bytesOf(length);
  }

  bytes(): Uint8Array {
    return this.#bytesOf(this.cell());
  }

  #bytesOf(length: Cell): Uint8Array {
    if (typeof length !== 'number') throw new TypeError('bytes were expected');
    const bytes = this.#bytes.subarray(this.#byte, this.#byte + length);
    this.#byte += length;
    return bytes;
  }

  /** Text, number or absent. */
  cell(): Cell {
    if (this.isEmpty) throw new TypeError('another member was expected');
    const cell = this.#cells[this.#cell];
    this.#cell += 1;
    return cell;
  }
}

/** The result of a call on the other thread. */
export type Outcome =
  | { readonly result: unknown }
  | {
      readonly problem: ProblemCode | undefined;
      readonly retryAfter: number | undefined;
      /** The error, or the cause of the problem. */
      readonly cause: Thrown | undefined;
    };

/** The parts of an error to send: cloning one drops its name and its code. */
interface Thrown {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  readonly code: string | undefined;
}

export function failureOf(error: unknown): Outcome {
  const problem = error instanceof Problem ? error : undefined;
  const root = problem?.cause instanceof Error ? problem.cause : error;
  return {
    problem: problem?.code,
    retryAfter: problem?.retryAfter,
    cause:
      root instanceof Error
        ? { name: root.name, message: root.message, stack: root.stack, code: sqliteCode(root) }
        : undefined,
  };
}

export function errorOf({ problem, retryAfter, cause: thrown }: Exclude<Outcome, { result: unknown }>): Error {
  const { name = 'Error', message = 'a write failed', stack, code } = thrown ?? {};
  const cause = Object.assign(new Error(message), { name }, stack && { stack }, code && { code });
  if (problem === undefined) return cause;
  return new Problem(problem, { cause, ...(retryAfter !== undefined && { retryAfter }) });
}
