import type { ProblemCode } from '../../../contract/problems.ts';
import { errorCode, isError } from '../../../core/fault.ts';
import { Problem } from '../../../core/problem.ts';
import { probeOf } from '../file/sqlite-error.ts';

/**
 * A message from the thread that answers calls to the thread that writes. It contains all calls of one tick of the
 * event loop: their texts and numbers in one array, their bytes in one buffer. Sending the objects themselves takes
 * several times as long and would copy the whole buffer behind each byte array.
 */
export interface WriteMessage {
  readonly cells: readonly Cell[];
  readonly bytes: ArrayBuffer;
}

export type Cell = string | number | boolean | undefined;

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

/** Reads the values of a message in the order in which the outbox collected them. */
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

  /** Returns the next text, number or flag, or undefined for an absent value. */
  cell(): Cell {
    const cell = this.#cells[this.#cell];
    this.#cell += 1;
    return cell;
  }

  bytes(): Uint8Array | undefined {
    const length = this.cell();
    if (typeof length !== 'number') return undefined;
    // This is faster than Buffer.subarray.
    const bytes = new Uint8Array(this.#bytes, this.#byte, length);
    this.#byte += length;
    return bytes;
  }
}

/** The result of a call on the other thread. */
export type CallOutcome = { readonly result: unknown } | Failure;

/** An error, or a problem with its cause. Structured cloning would drop the name and the code of an error. */
interface Failure {
  readonly problem: ProblemCode | undefined;
  readonly retryAfter: number | undefined;
  readonly cause: Readonly<Record<'name' | 'message', string> & Record<'stack' | 'code' | 'probe', string | undefined>>;
}

export function failureOf(error: unknown): Failure {
  const problem = error instanceof Problem ? error : undefined;
  const root = isError(problem?.cause) ? problem.cause : error;
  const { name, message, stack } = isError(root) ? root : new Error(String(root));
  const cause = { name, message, stack, code: errorCode(root), probe: probeOf(root) };
  return { problem: problem?.code, retryAfter: problem?.retryAfter, cause };
}

export function errorOf({ problem, retryAfter, cause: { name, message, stack, code, probe } }: Failure): Error {
  const cause = Object.assign(new Error(message), { name, stack }, code && { code }, probe && { probe });
  return problem === undefined
    ? cause
    : new Problem(problem, { cause, ...(retryAfter !== undefined && { retryAfter }) });
}
