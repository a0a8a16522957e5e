import type { AuditHead } from '../../core/audit/ports.ts';
import { isBytes } from '../../core/is-bytes.ts';
import type { Scalar } from '../rows/fragment.ts';
import { isStorableText } from '../rows/stored-value.ts';
import { placeAfter } from './audit-head.ts';
import type { Answers, Bound, LaneMember, Place, Run, Transaction } from './connections.ts';
import { listsOf, named } from './sql-client.ts';
import { uuidKey } from './uuid-text.ts';

/** Each list is a subquery, so that the planner does not know its length and make a new plan for each list. */
export const LOCKS = named({
  lockGates: 'SELECT 1 FROM vault.gate WHERE gate = ANY ((SELECT $1::smallint[])::smallint[]) ORDER BY gate FOR UPDATE',
  lockTokens: `SELECT count(*) FROM unnest((SELECT $1::uuid[]), (SELECT $2::text[])) w (tenant_id, id),
  LATERAL (SELECT 1 FROM vault.token
    WHERE tenant = (SELECT n.tenant FROM vault.tenant n WHERE n.id = w.tenant_id) AND vault.token.id = w.id
    FOR UPDATE) t`,
});

/** A member of a group with its entry and its statements. */
export interface Prepared {
  readonly member: LaneMember<unknown>;
  readonly entry?: Place | undefined;
  /** Present if the entry could not be linked. The member then has no entry and no statements. */
  readonly failure?: { readonly error: unknown };
  /** Members that share a statement have the same array. */
  readonly bound: readonly Bound[];
  /** The position of the member's row in its statements. */
  readonly at: number;
}

const SAVE = 'SAVEPOINT members';
const UNDO = 'ROLLBACK TO SAVEPOINT members';

/** The maximum length of the values in a shared statement. The driver sends bytes in lists as longer texts. */
const MAX_SHARED_BYTES = 256 * 1024;

/** Neighbours in a group that share statements, or one member. */
interface Sharing {
  readonly first: LaneMember<unknown>;
  /** The length of the values that still fit. */
  room: number;
  readonly ids: Set<string>;
  readonly places: Place[];
  readonly rows: (readonly Scalar[])[];
  readonly bound: Bound[];
}

function lengthOf(value: Scalar): number {
  return isBytes(value) || typeof value === 'string' ? value.length : 0;
}

const compare = (a: string, b: string) => Number(a > b) - Number(a < b);

/**
 * Returns the statements that lock the gates and tokens of members, in this order, until the end of the transaction.
 * Send them before the statements that read what the locks guard: a statement does not see what is committed while it
 * waits. An id that the store cannot hold has no row to lock.
 */
export function locksOf(members: readonly LaneMember<unknown>[]): readonly Bound[] {
  const gates = new Set(members.flatMap((member) => member.gates ?? []));
  const tokens = members
    .flatMap((member) => member.tokens ?? [])
    .filter(({ tenant_id, id }) => uuidKey(tenant_id) !== null && isStorableText(id))
    .sort((a, b) => compare(a.tenant_id, b.tenant_id) || compare(a.id, b.id));
  const locks: Bound[] = [];
  if (gates.size > 0) locks.push([LOCKS.lockGates, [[...gates]]]);
  if (tokens.length > 0) locks.push([LOCKS.lockTokens, listsOf(tokens, 'tenant_id', 'id')]);
  return locks;
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

/** Locks the tokens and gates of members, sends their statements at once, and writes their entries and replies. */
export async function runAll<T>({ run, record }: Transaction, members: readonly LaneMember<T>[]) {
  const attempt = async (list: readonly LaneMember<T>[]) => {
    const prepared = prepare(list);
    const answers = await Promise.all(sendAll(run, prepared));
    return list.map(({ read }, n) => read(answers[n] ?? [], prepared[n]?.at ?? 0));
  };
  await Promise.all(locksOf(members).map(([statement, values]) => run(statement, values)));
  // A single member needs no savepoint, because it is behind no other.
  let [, answers] = await Promise.all([members.length > 1 && run(SAVE), attempt(members)]);
  if (answers.includes(undefined)) {
    // A refused member hides the outcomes of those behind it in a shared statement.
    await run(UNDO);
    answers = await attempt(members.map((member) => ({ ...member, shared: undefined })));
  }
  for (const [n, { audit, isRemoval }] of members.entries()) {
    if (audit !== undefined && answers[n]?.hasChanged === true) await record(audit, isRemoval);
  }
  return answers.map((answer) => answer?.result as T);
}

/** Runs a member alone in an open transaction, then writes its entry and its reply. */
export async function runAlone<T>(transaction: Transaction, member: LaneMember<T>): Promise<T> {
  const [result] = await runAll(transaction, [member]);
  return result as T;
}

/** Returns the statements of members, which neighbours share. With `head`, entries have consecutive places after it. */
export function prepare(members: readonly LaneMember<unknown>[], head?: AuditHead): readonly Prepared[] {
  const all: Sharing[] = [];
  let last = head;
  const prepared = members.map((member): Prepared => {
    const { audit, isRemoval, shared: { key, id = '' } = {}, row = [] } = member;
    let entry: Place | undefined;
    try {
      entry = last && audit && placeAfter(last, audit, isRemoval);
    } catch (error) {
      return { member, failure: { error }, bound: [], at: 0 };
    }
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
  });
  for (const { first, places, rows, bound } of all) bound.push(...first.statements(places, rows));
  return prepared;
}
