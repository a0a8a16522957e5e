import type { ProblemCode } from '../../../contract/problems.ts';
import type { AuditDraft } from '../../../core/audit/ports.ts';
import type { TokenIndexes } from '../../../core/ports.ts';
import { Problem } from '../../../core/problem.ts';
import { sqliteCode } from '../file/sqlite-error.ts';

/**
 * What goes between the thread that answers calls and the one that writes. A message has the calls of one turn of the event
 * loop: their members one after the other in one array, their bytes in one buffer. To hand over objects as they are takes
 * several times as long, and would take along whatever else lies in the memory that their bytes are a view of.
 */
export interface WriteMessage {
  readonly cells: readonly Cell[];
  readonly bytes: ArrayBuffer;
}

type Cell = string | number | undefined;

/** Collects the members of calls. */
export class Outbox {
  readonly #cells: Cell[] = [];
  readonly #parts: Uint8Array[] = [];
  #size = 0;

  put(...cells: readonly Cell[]): void {
    for (const cell of cells) this.#cells.push(cell);
  }

  putBytes(bytes: Uint8Array | undefined): void {
    this.#cells.push(bytes?.length);
    if (bytes === undefined) return;
    this.#parts.push(bytes);
    this.#size += bytes.length;
  }

  putAllBytes(list: readonly Uint8Array[]): void {
    this.#cells.push(list.length);
    for (const bytes of list) this.putBytes(bytes);
  }

  /** All that `call` puts, or, when it throws, nothing: what another call has put here must be found where it is looked for. */
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

/** Takes them out again, in the same order. Throws where a member is not what is asked for: both ends are of one build. */
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
    return this.#isNextAbsent() ? undefined : this.bytes();
  }

  bytes(): Uint8Array {
    const length = this.number();
    const bytes = this.#bytes.subarray(this.#byte, this.#byte + length);
    this.#byte += length;
    return bytes;
  }

  allBytes(): readonly Uint8Array[] {
    return Array.from({ length: this.number() }, () => this.bytes());
  }

  /** Text, number or absent. */
  cell(): Cell {
    const cell = this.#cells[this.#cell];
    this.#cell += 1;
    return cell;
  }

  /** Takes the next cell if it is absent. */
  #isNextAbsent(): boolean {
    if (this.isEmpty || this.#cells[this.#cell] !== undefined) return false;
    this.#cell += 1;
    return true;
  }
}

/** A flat record, member by member as its table names them. */
interface Members<Row> {
  readonly names: readonly (keyof Row & string)[];
  readonly blobs: ReadonlySet<string>;
}

export function putRecord<Row extends { readonly tenant_id: string }>(
  out: Outbox,
  { names, blobs }: Members<Row>,
  record: Row,
): void {
  out.put(record.tenant_id);
  for (const name of names) {
    if (blobs.has(name)) out.putBytes(record[name] as Uint8Array | undefined);
    else out.put(record[name] as Cell);
  }
}

export function takeRecord<Row extends { readonly tenant_id: string }>(
  from: Inbox,
  { names, blobs }: Members<Row>,
): Row {
  const record: Record<string, unknown> = { tenant_id: from.text() };
  for (const name of names) record[name] = blobs.has(name) ? from.optionalBytes() : from.cell();
  return record as Row;
}

export function putIndexes(out: Outbox, { fingerprint, others, former = [] }: TokenIndexes): void {
  out.putBytes(fingerprint);
  out.putAllBytes(others);
  out.putAllBytes(former);
}

export function takeIndexes(from: Inbox): TokenIndexes {
  return { fingerprint: from.bytes(), others: from.allBytes(), former: from.allBytes() };
}

/** Without its function: whoever takes it out links it. */
export function putDraft(out: Outbox, { at, sealed }: AuditDraft): void {
  out.put(at);
  out.putBytes(sealed);
}

/** Makes the link of an entry: `Keyring.auditLink`. */
export type Chain = (
  previous: Uint8Array,
  entry: { readonly sequence: number; readonly at: number; readonly sealed: Uint8Array },
) => Uint8Array;

export function takeDraft(from: Inbox, chain: Chain): AuditDraft {
  const at = from.number();
  const sealed = from.bytes();
  return { at, sealed, link: (previous, sequence) => chain(previous, { sequence, at, sealed }) };
}

/** What a call came to on the other thread. */
export type Outcome =
  | { readonly result: unknown }
  | {
      readonly problem: ProblemCode | undefined;
      readonly retryAfter: number | undefined;
      /** The error, or what the problem came from. */
      readonly cause: Thrown | undefined;
    };

/** What is told of an error; to clone one leaves out its name and its code. */
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
