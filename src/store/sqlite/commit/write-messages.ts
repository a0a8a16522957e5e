import type { ProblemCode } from '../../../contract/problems.ts';
import { Problem } from '../../../core/problem.ts';
import { sqliteCode } from '../file/sqlite-error.ts';

/**
 * A message from the thread that answers calls to the thread that writes. It contains all calls of one turn of the
 * event loop: their texts and numbers in one array, their bytes in one buffer. Sending the objects themselves takes
 * several times as long and would copy the whole buffer behind each byte array.
 */
export interface WriteMessage {
  readonly cells: readonly Cell[];
  readonly bytes: ArrayBuffer;
}

export type Cell = string | number | undefined;

/** Collects the values of calls for one message. */
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

  /**
   * Runs `call`, which appends the values of one call. If it throws, removes these values again, so that the message
   * stays readable.
   */
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
 * Reads the values of a message in the order in which the outbox collected them. Throws for a value of the wrong type,
 * which is a bug: both ends have the same build.
 */
export class Inbox {
  readonly #cells: readonly Cell[];
  readonly #bytes: ArrayBuffer;
  #cell = 0;
  #byte = 0;

  constructor({ cells, bytes }: WriteMessage) {
    this.#cells = cells;
    this.#bytes = bytes;
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
    // This is faster than Buffer.subarray.
    const bytes = new Uint8Array(this.#bytes, this.#byte, length);
    this.#byte += length;
    return bytes;
  }

  /** Returns the next text or number, or undefined for an absent value. */
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

/** The parts of an error that a message carries. Structured cloning would drop the error's name and code. */
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
