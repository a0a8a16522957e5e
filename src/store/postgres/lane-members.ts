import type { AuditDraft } from '../../core/audit/ports.ts';
import { isBytes } from '../../core/is-bytes.ts';
import type { Scalar } from '../rows/fragment.ts';
import type { Answers, Bound, LaneMember, Run, Transaction } from './connections.ts';

/** A member of a group with its statements. */
export interface Prepared {
  readonly member: LaneMember<unknown>;
  /** Members that share a statement have the same array. */
  readonly bound: readonly Bound[];
  /** The position of the member's row in its statements. */
  readonly at: number;
}

/** The maximum length of the values in a shared statement. The driver sends bytes in lists as longer texts. */
const MAX_SHARED_BYTES = 256 * 1024;

/** Neighbours in a group that share statements, or one member. */
interface Sharing {
  readonly first: LaneMember<unknown>;
  /** The length of the values that still fit. */
  room: number;
  readonly ids: Set<string>;
  readonly drafts: AuditDraft[];
  readonly rows: (readonly Scalar[])[];
  readonly bound: Bound[];
}

function lengthOf(value: Scalar): number {
  return isBytes(value) || typeof value === 'string' ? value.length : 0;
}

/** Sends the statements of members, shared ones once. Returns a promise of the answers for each member. */
export function sendAll(run: Run, members: readonly Prepared[]): readonly Promise<Answers>[] {
  const sent = new Map<readonly Bound[], Promise<Answers>>();
  return members.map(({ bound }) => {
    const asked = sent.get(bound) ?? Promise.all(bound.map(([statement, values]) => run(statement, values)));
    sent.set(bound, asked);
    return asked;
  });
}

/** Sends the statements of members at once, in an open transaction, and writes their entries and replies. */
export async function runAll<T>({ run, record }: Transaction, members: readonly LaneMember<T>[]) {
  const prepared = prepare(members, { drafts: false });
  const answers = await Promise.all(sendAll(run, prepared));
  const read = members.map((member, n) => member.read(answers[n] ?? [], prepared[n]?.at ?? 0));
  for (const [n, { audit }] of members.entries()) {
    if (audit !== undefined && read[n]?.hasChanged === true) await record(audit);
  }
  return read.map(({ result }) => result);
}

/** Runs a member alone in an open transaction, then writes its entry and its reply. */
export async function runAlone<T>(transaction: Transaction, member: LaneMember<T>): Promise<T> {
  const [result] = await runAll(transaction, [member]);
  return result as T;
}

/** Returns the statements of members, which neighbours share. Without `drafts`, they write no entries. */
export function prepare(
  members: readonly LaneMember<unknown>[],
  { drafts: hasDrafts }: { readonly drafts: boolean },
): readonly Prepared[] {
  const all: Sharing[] = [];
  const prepared = members.map((member): Prepared => {
    const { audit, shared: { key, id = '' } = {}, row = [] } = member;
    const size = row.reduce<number>((sum, value) => sum + lengthOf(value), 0);
    let shared = all.at(-1);
    const isNeighbour = key !== undefined && shared?.first.shared?.key === key;
    if (shared === undefined || !isNeighbour || shared.ids.has(id) || shared.room < size) {
      shared = { first: member, room: MAX_SHARED_BYTES, ids: new Set(), drafts: [], rows: [], bound: [] };
      all.push(shared);
    }
    const { ids, drafts, rows, bound } = shared;
    shared.room -= size;
    ids.add(id);
    if (audit !== undefined && hasDrafts) drafts.push(audit);
    return { member, bound, at: rows.push(row) - 1 };
  });
  for (const { first, drafts, rows, bound } of all) bound.push(...first.statements(drafts, rows));
  return prepared;
}
