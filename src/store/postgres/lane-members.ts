import type { AuditHead } from '../../core/audit/ports.ts';
import type { Scalar } from '../rows/fragment.ts';
import { type PlacedEntry, placeAfter } from './audit-chain.ts';
import type { Bound, LaneMember, Run, Transaction } from './connections.ts';
import { lockRows } from './lock-rows.ts';

/** A member of a group with its statements. */
export interface Prepared {
  readonly member: LaneMember<unknown>;
  readonly entry?: PlacedEntry | undefined;
  /** Members that share a statement have the same array. */
  readonly bound: readonly Bound[];
  /** The position of the member's row in its statements. */
  readonly at: number;
  /** Present if the entry could not be linked. The member then has no entry and no statements. */
  readonly failure?: { readonly error: unknown };
}

/** The maximum length of the values in a shared statement. Lists send bytes as texts of twice their length. */
const MAX_SHARED_BYTES = 256 * 1024;

/** Neighbours in a group that share statements, or one member. */
interface Sharing {
  readonly first: LaneMember<unknown>;
  /** The length of the values that still fit. */
  room: number;
  readonly ids: Set<string>;
  readonly places: PlacedEntry[];
  readonly rows: (readonly Scalar[])[];
  readonly bound: Bound[];
}

function lengthOf(value: Scalar): number {
  return value instanceof Uint8Array || typeof value === 'string' ? value.length : 0;
}

/** Runs a member in an open transaction that holds its locks. Does not write its entry. */
async function runWithin<T>(run: Run, chain: string, { row = [], statements, read }: LaneMember<T>) {
  const sent = statements(chain, [], [row]).map(([statement, values]) => run(statement, values));
  return read(await Promise.all(sent), 0);
}

/** Runs members one after the other in an open transaction, in one round trip. Does not write their entries. */
export async function runAll<T>(
  { run, chain }: Pick<Transaction, 'run' | 'chain'>,
  members: readonly LaneMember<T>[],
): Promise<readonly T[]> {
  await lockRows(
    run,
    members.flatMap(({ gates = [] }) => gates),
    members.flatMap(({ tokens = [] }) => tokens),
  );
  const answers = await Promise.all(members.map((member) => runWithin(run, chain, member)));
  return answers.map(({ result }) => result);
}

/** Runs a member alone in an open transaction, then writes its entry and its reply. */
export async function runAlone<T>(transaction: Transaction, member: LaneMember<T>): Promise<T> {
  const { run, chain, record, recordRemoval } = transaction;
  const { gates = [], tokens = [], audit, isRemoval = false } = member;
  await lockRows(run, gates, tokens);
  const { hasChanged, result } = await runWithin(run, chain, member);
  if (hasChanged && audit !== undefined) await (isRemoval ? recordRemoval(audit) : record(audit));
  return result;
}

/** Gives the entries of the members consecutive places, as if each member changed something. */
export function prepare(members: readonly LaneMember<unknown>[], head: AuditHead): readonly Prepared[] {
  const all: Sharing[] = [];
  let last = head;
  const prepared = members.map((member): Prepared => {
    try {
      const { audit, shared: { key, id = '' } = {}, row = [] } = member;
      const entry = audit && placeAfter(last, audit);
      last = entry ?? last;
      const size = row.reduce<number>((sum, value) => sum + lengthOf(value), 0);
      let shared = all.at(-1);
      const isNeighbour = key !== undefined && shared?.first.shared?.key === key;
      if (shared === undefined || !isNeighbour || shared.ids.has(id) || shared.room < size) {
        shared = { first: member, room: MAX_SHARED_BYTES, ids: new Set(), places: [], rows: [], bound: [] };
        all.push(shared);
      }
      const { ids, places, rows, bound } = shared;
      shared.room -= size;
      ids.add(id);
      if (entry !== undefined) places.push(entry);
      return { member, entry, bound, at: rows.push(row) - 1 };
    } catch (error) {
      return { member, bound: [], at: 0, failure: { error } };
    }
  });
  for (const { first, places, rows, bound } of all) bound.push(...first.statements(head.chain, places, rows));
  return prepared;
}
