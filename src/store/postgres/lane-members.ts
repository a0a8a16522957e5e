import type { AuditHead } from '../../core/audit/ports.ts';
import type { Scalar } from '../rows/fragment.ts';
import { type PlacedEntry, placeAfter } from './audit-chain.ts';
import type { Bound, LaneMember, Run, Transaction } from './connections.ts';
import { lockRows } from './lock-rows.ts';
import type { Row } from './sql-client.ts';

/** A member of a group with its entry. */
interface Linked {
  readonly member: LaneMember<unknown>;
  readonly entry?: PlacedEntry | undefined;
  /** Present if the entry could not be linked. The member then has no entry and no statements. */
  readonly failure?: { readonly error: unknown };
}

/** A member of a group with its statements. */
export interface Prepared extends Linked {
  /** Members that share a statement have the same array. */
  readonly bound: readonly Bound[];
  /** The position of the member's row in its statements. */
  readonly at: number;
}

const SAVE = 'SAVEPOINT members';
const UNDO = 'ROLLBACK TO SAVEPOINT members';

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

/** Sends the statements of members, shared ones once. Returns a promise of the answers for each member. */
export function sendAll(run: Run, members: readonly Prepared[]): readonly Promise<readonly (readonly Row[])[]>[] {
  const sent = new Map<readonly Bound[], Promise<readonly (readonly Row[])[]>>();
  return members.map(({ bound }) => {
    const asked = sent.get(bound) ?? Promise.all(bound.map(([statement, values]) => run(statement, values)));
    sent.set(bound, asked);
    return asked;
  });
}

/**
 * Runs members in their order in an open transaction, in one round trip. Then writes the entries and replies of those
 * that changed something.
 */
export async function runAll<T>(
  { run, chain, record }: Pick<Transaction, 'run' | 'chain' | 'record'>,
  members: readonly LaneMember<T>[],
): Promise<readonly T[]> {
  const attempt = async (list: readonly LaneMember<T>[]) => {
    const prepared = share(
      chain,
      list.map((member) => ({ member })),
    );
    const answers = await Promise.all(sendAll(run, prepared));
    return list.map(({ read }, n) => read(answers[n] ?? [], prepared[n]?.at ?? 0));
  };
  await lockRows(
    run,
    members.flatMap(({ gates = [] }) => gates),
    members.flatMap(({ tokens = [] }) => tokens),
  );
  // A single member cannot be behind another.
  let [, answers] = await Promise.all([members.length > 1 && run(SAVE), attempt(members)]);
  if (!answers.every(({ isHead }) => isHead)) {
    // A refused member hides the outcomes of those behind it in a shared statement.
    await run(UNDO);
    answers = await attempt(members.map((member) => ({ ...member, shared: undefined })));
  }
  for (const [n, { audit, isRemoval }] of members.entries()) {
    if (audit !== undefined && answers[n]?.hasChanged === true) await record(audit, isRemoval);
  }
  return answers.map(({ result }) => result);
}

/** Runs a member alone in an open transaction, then writes its entry and its reply. */
export async function runAlone<T>(transaction: Transaction, member: LaneMember<T>): Promise<T> {
  const [result] = await runAll(transaction, [member]);
  return result as T;
}

/** Gives the entries of the members consecutive places, as if each member changed something. */
export function prepare(members: readonly LaneMember<unknown>[], head: AuditHead): readonly Prepared[] {
  let last = head;
  const linked = members.map((member): Linked => {
    try {
      const entry = member.audit && placeAfter(last, member.audit);
      last = entry ?? last;
      return { member, entry };
    } catch (error) {
      return { member, failure: { error } };
    }
  });
  return share(head.chain, linked);
}

/** Adds the statements of members. Neighbours with the same key share them. */
function share(chain: string, members: readonly Linked[]): readonly Prepared[] {
  const all: Sharing[] = [];
  const prepared = members.map((linked): Prepared => {
    const { member, entry, failure } = linked;
    if (failure !== undefined) return { ...linked, bound: [], at: 0 };
    const { shared: { key, id = '' } = {}, row = [] } = member;
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
    return { ...linked, bound, at: rows.push(row) - 1 };
  });
  for (const { first, places, rows, bound } of all) bound.push(...first.statements(chain, places, rows));
  return prepared;
}
