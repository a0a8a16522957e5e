import { isSameBytes } from '../bytes.ts';
import type { Keyring } from '../ports.ts';
import type { AuditEvent } from './audit-event.ts';
import { START } from './audit-link.ts';
import { type FollowedPosition, type FollowKeys, openWitness, passCommits } from './follow-rows.ts';
import type { AuditEntry, AuditReads, Witness } from './ports.ts';
import { type Base, digestOfState, readBase } from './sums.ts';
import { BrokenAudit } from './walk-audit.ts';

/** The number of last rows whose witnesses are compared. */
export const TAIL_ROWS = 8;
/** The number of rows in one read. */
const PAGE = 500;

/** The position before the first row. */
export const BEFORE_ALL: FollowedPosition = { ...START, authority: 0, digest: 0n };

export interface AuthorityParts {
  readonly store: Pick<AuditReads, 'readAudit'>;
  readonly keyring: FollowKeys & Pick<Keyring, 'openAuditBase' | 'isAuditBase'>;
}

/** An opened authority row. */
export interface AuthorityRow {
  readonly sequence: number;
  /** The authority row before it; 0 without one. */
  readonly previous: number;
  readonly digest: bigint;
  readonly events: readonly AuditEvent[];
}

/** Resolves to the position of the last row. Rejects with `BrokenAudit`. */
export async function findEnd(parts: AuthorityParts & { readonly store: AuditReads }): Promise<FollowedPosition> {
  const { sequence } = await parts.store.auditHead();
  const tail = await parts.store.readAudit(Math.max(0, sequence - TAIL_ROWS), TAIL_ROWS);
  return findPosition(parts, await readBase(parts), tail);
}

/**
 * Resolves to the position of the last row, given the base and the last rows of the log. Rejects with `BrokenAudit`.
 */
export async function findPosition(
  parts: AuthorityParts,
  base: Base,
  last: readonly AuditEntry[],
): Promise<FollowedPosition> {
  const { keyring } = parts;
  const start = { ...base, authority: base.state.authority, digest: digestOfState(keyring, base.state) };
  const tail = last.filter(({ sequence }) => sequence > base.sequence);
  const head = tail.at(-1);
  if (head === undefined) return start;
  const witnesses = tail.map((row) => openWitness(keyring, row).witness).filter((one) => one.sequence >= base.sequence);
  const best = witnesses.reduce((a, b) => (b.sequence > a.sequence ? b : a), start);
  const rival = witnesses.find(({ authority }) => authority > best.authority);
  if (rival !== undefined) throw new BrokenAudit(head, `follows a row that names the row ${rival.authority}`);
  const position = await passUpTo(parts, best.sequence === base.sequence ? start : { ...best, digest: 0n }, head);
  if (position.authority <= base.state.authority) return { ...position, digest: start.digest };
  // The rows behind the witness may have no row of authority.
  return position.authority === best.authority
    ? { ...position, digest: (await readAuthority(parts, best.authority)).digest }
    : position;
}

/** Resolves to the position of the row `end`, which follows `from`. Takes the digests of the rows as they are. */
async function passUpTo({ store, keyring }: AuthorityParts, from: FollowedPosition, end: AuditEntry) {
  const passed = new Map<number, Witness>([[from.sequence, from]]);
  let position = from;
  const [known] = await store.readAudit(from.sequence - 1, 1);
  if (known?.sequence !== from.sequence) throw new BrokenAudit(from, 'is missing');
  if (!isSameBytes(known.link, from.link)) throw new BrokenAudit(from, 'is not the row that a later one names');
  for (let limit = PAGE; position.sequence < end.sequence; ) {
    const rows = await store.readAudit(position.sequence, Math.min(limit, end.sequence - position.sequence));
    const before = position;
    for (const commit of passCommits(keyring, position, rows, { positionAt: (sequence) => passed.get(sequence) })) {
      ({ position } = commit);
      passed.set(position.sequence, position);
    }
    if (position !== before) continue;
    if (rows.length < limit) throw new BrokenAudit({ sequence: position.sequence + 1 }, 'is missing');
    // The commit has more rows than a page.
    limit *= 2;
  }
  return position;
}

/** Resolves to the authority row at a position. Rejects with `BrokenAudit` if another row is there. */
async function readAuthority({ store, keyring }: AuthorityParts, sequence: number): Promise<AuthorityRow> {
  const [row] = await store.readAudit(sequence - 1, 1);
  if (row?.sequence !== sequence) throw new BrokenAudit({ sequence }, 'is missing');
  return openAuthority(keyring, row);
}

function openAuthority(keyring: FollowKeys, row: AuditEntry): AuthorityRow {
  const { witness, digest, events } = openWitness(keyring, row);
  // The seal binds the row to its position: its witness is the row before it.
  if (digest === undefined || witness.sequence !== row.sequence - 1) {
    throw new BrokenAudit(row, 'is not the row that was written at its position');
  }
  return { sequence: row.sequence, previous: witness.authority, digest, events };
}

/** Yields the authority rows from `last` back to the first one behind the row `first`. Rejects with `BrokenAudit`. */
export async function* authorityRows(parts: AuthorityParts, last: number, first: number): AsyncGenerator<AuthorityRow> {
  let page: readonly AuditEntry[] = [];
  for (let sequence = last; sequence > first; ) {
    let row = page.find((one) => one.sequence === sequence);
    if (row === undefined) {
      // Rows of authority often stand together.
      page = await parts.store.readAudit(Math.max(0, sequence - PAGE), Math.min(PAGE, sequence));
      row = page.find((one) => one.sequence === sequence);
    }
    if (row === undefined) throw new BrokenAudit({ sequence }, 'is missing');
    const opened = openAuthority(parts.keyring, row);
    yield opened;
    sequence = opened.previous;
  }
}
