import type { AuditHead } from '../../core/audit/ports.ts';
import type { Scalar } from '../rows/fragment.ts';
import { type PlacedEntry, placeAfter } from './audit-chain.ts';
import type { Batch, Bound, LaneMember, Transaction } from './connections.ts';
import { lockRows } from './lock-rows.ts';

/** A member of a group with its statements. */
export interface Prepared {
  readonly member: LaneMember<unknown>;
  readonly entry?: PlacedEntry | undefined;
  /** Members that share a statement have the same array. */
  readonly bound: readonly Bound[];
  /** The position in a shared statement, or 0. */
  readonly at: number;
  /** Present if building the statements failed. The member then has no entry and no statements. */
  readonly failure?: { readonly error: unknown };
}

/** The maximum length of the values in a shared statement. Lists send bytes as texts of twice their length. */
const MAX_SHARED_BYTES = 256 * 1024;

/** Neighbours in a group that share a statement. */
interface Shared {
  readonly batch: Batch;
  /** The length of the values that still fit. */
  room: number;
  readonly members: Map<string, { readonly member: LaneMember<unknown>; readonly entry: PlacedEntry }>;
  readonly bound: Bound[];
}

function lengthOf(value: Scalar): number {
  return value instanceof Uint8Array || typeof value === 'string' ? value.length : 0;
}

/** Runs a member alone in an open transaction, then writes its entry and its reply. */
export async function runAlone<T>(transaction: Transaction, member: LaneMember<T>): Promise<T> {
  const { run, chain, record, recordRemoval } = transaction;
  const { gates = [], tokens = [], audit, isRemoval = false } = member;
  await lockRows(run, gates, tokens);
  const sent = member.statements(undefined, chain).map(([statement, values]) => run(statement, values));
  const { hasChanged, result } = member.read(await Promise.all(sent), 0);
  if (hasChanged && audit !== undefined) await (isRemoval ? recordRemoval(audit) : record(audit));
  return result;
}

/** Gives the entries of the members consecutive places, as if each member changed something. */
export function prepare(members: readonly LaneMember<unknown>[], head: AuditHead): readonly Prepared[] {
  const { chain } = head;
  const groups: Shared[] = [];
  let last = head;
  let shared: Shared | undefined;
  const prepared = members.map((member): Prepared => {
    try {
      const { audit, batch } = member;
      const entry = audit && placeAfter(last, audit);
      if (batch === undefined || entry === undefined) {
        const bound = member.statements(entry, chain);
        shared = undefined;
        last = entry ?? last;
        return { member, entry, bound, at: 0 };
      }
      const size = batch.row.reduce<number>((sum, value) => sum + lengthOf(value), 0);
      if (shared?.batch.key !== batch.key || shared.members.has(batch.id) || shared.room < size) {
        shared = { batch, room: MAX_SHARED_BYTES, members: new Map(), bound: [] };
        groups.push(shared);
      }
      shared.room -= size;
      const { members: neighbours, bound } = shared;
      neighbours.set(batch.id, { member, entry });
      last = entry;
      return { member, entry, bound, at: neighbours.size - 1 };
    } catch (error) {
      return { member, bound: [], at: 0, failure: { error } };
    }
  });
  for (const { batch, members: neighbours, bound } of groups) {
    const all = [...neighbours.values()];
    const [first] = all;
    if (all.length > 1) {
      const rows = all.map(({ member }) => member.batch?.row ?? []);
      const places = all.map(({ entry }) => entry);
      bound.push(...batch.bind(chain, places, rows));
    } else if (first !== undefined) bound.push(...first.member.statements(first.entry, chain));
  }
  return prepared;
}
