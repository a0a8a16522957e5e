import type { AuditDraft } from '../../core/audit/ports.ts';
import { isBytes } from '../../core/bytes.ts';
import type { Scalar } from '../rows/fragment.ts';
import type { Answers } from '../rows/store-steps.ts';
import type { Bound, QueuedWrite, Run, Transaction } from './connections.ts';

/** A write of a batch with its statements. */
export interface Prepared {
  readonly write: QueuedWrite<unknown>;
  /** Writes that share a statement have the same array. */
  readonly bound: readonly Bound[];
  /** The position of the write's row in its statements. */
  readonly at: number;
}

/** The maximum length of the values in a shared statement. The driver sends bytes in lists as longer texts. */
const MAX_SHARED_BYTES = 256 * 1024;

/** Neighbours in a batch that share statements, or one write. */
interface Sharing {
  readonly first: QueuedWrite<unknown>;
  /** The length of the values that still fit. */
  remaining: number;
  readonly ids: Set<string>;
  readonly drafts: AuditDraft[];
  readonly rows: (readonly Scalar[])[];
  readonly bound: Bound[];
}

function lengthOf(value: Scalar): number {
  return isBytes(value) || typeof value === 'string' ? value.length : 0;
}

/** Sends the statements of writes, shared ones once. Returns a promise of the answers for each write. */
export function sendAll(run: Run, writes: readonly Prepared[]): readonly Promise<Answers>[] {
  const sent = new Map<readonly Bound[], Promise<Answers>>();
  return writes.map(({ bound }) => {
    const asked = sent.get(bound) ?? Promise.all(bound.map(([statement, values]) => run(statement, values)));
    sent.set(bound, asked);
    return asked;
  });
}

/** Sends the statements of writes at once, in an open transaction, and writes their entries and replies. */
export async function runAll<T>({ run, record }: Transaction, writes: readonly QueuedWrite<T>[]) {
  const prepared = prepare(writes, { drafts: false });
  const answers = await Promise.all(sendAll(run, prepared));
  const read = writes.map((write, n) => write.read(answers[n] ?? [], prepared[n]?.at ?? 0));
  for (const [n, { audit }] of writes.entries()) {
    if (audit !== undefined && read[n]?.hasChanged === true) await record(audit);
  }
  return read.map(({ result }) => result);
}

/** Runs a write alone in an open transaction, then writes its entry and its reply. */
export async function runAlone<T>(transaction: Transaction, write: QueuedWrite<T>): Promise<T> {
  const [result] = await runAll(transaction, [write]);
  return result as T;
}

/** Returns the statements of writes, which neighbours share. Without `drafts`, they write no entries. */
export function prepare(
  writes: readonly QueuedWrite<unknown>[],
  { drafts: hasDrafts }: { readonly drafts: boolean },
): readonly Prepared[] {
  const all: Sharing[] = [];
  const prepared = writes.map((write): Prepared => {
    const { audit, shared: { key, id = '' } = {}, row = [] } = write;
    const size = row.reduce<number>((sum, value) => sum + lengthOf(value), 0);
    let shared = all.at(-1);
    const isNeighbour = key !== undefined && shared?.first.shared?.key === key;
    if (shared === undefined || !isNeighbour || shared.ids.has(id) || shared.remaining < size) {
      shared = { first: write, remaining: MAX_SHARED_BYTES, ids: new Set(), drafts: [], rows: [], bound: [] };
      all.push(shared);
    }
    const { ids, drafts, rows, bound } = shared;
    shared.remaining -= size;
    ids.add(id);
    if (audit !== undefined && hasDrafts) drafts.push(audit);
    return { write, bound, at: rows.push(row) - 1 };
  });
  for (const { first, drafts, rows, bound } of all) bound.push(...first.statements(drafts, rows));
  return prepared;
}
