import { isSameBytes } from '../is-bytes.ts';
import type { Keyring } from '../ports.ts';
import type { AuditEvent } from './audit-event.ts';
import { START } from './audit-link.ts';
import { type Base, readBase } from './base.ts';
import { type FollowedPlace, type FollowKeys, openWitness, passCommits } from './follow-rows.ts';
import type { AuditEntry, AuditReads, Witness } from './ports.ts';
import { digestOfState } from './sums.ts';
import { BrokenAudit } from './walk-audit.ts';

/** The number of last rows whose witnesses are compared. */
export const TAIL_ROWS = 8;
/** The number of rows in one read. */
const PAGE = 500;

/** The place before the first row. */
export const BEFORE_ALL: FollowedPlace = { ...START, authority: 0, digest: 0n };

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

/** Resolves to the place of the last row. Rejects with `BrokenAudit`. */
export async function findEnd(parts: AuthorityParts & { readonly store: AuditReads }): Promise<FollowedPlace> {
  const { sequence } = await parts.store.auditHead();
  const tail = await parts.store.readAudit(Math.max(0, sequence - TAIL_ROWS), TAIL_ROWS);
  return findPlace(parts, await readBase(parts), tail);
}

/**
 * Resolves to the place of the last row, given the base and the last rows of the log. Rejects with `BrokenAudit`.
 */
export async function findPlace(
  parts: AuthorityParts,
  base: Base,
  last: readonly AuditEntry[],
): Promise<FollowedPlace> {
  const { keyring } = parts;
  const start = { ...base, authority: base.state.authority, digest: digestOfState(keyring, base.state) };
  const tail = last.filter(({ sequence }) => sequence > base.sequence);
  const head = tail.at(-1);
  if (head === undefined) return start;
  const witnesses = tail.map((row) => openWitness(keyring, row).witness).filter((one) => one.sequence >= base.sequence);
  const best = witnesses.reduce((a, b) => (b.sequence > a.sequence ? b : a), start);
  const rival = witnesses.find(({ authority }) => authority > best.authority);
  if (rival !== undefined) throw new BrokenAudit(head, `follows a row that names the row ${rival.authority}`);
  const place = await passUpTo(parts, best.sequence === base.sequence ? start : { ...best, digest: 0n }, head);
  if (place.authority <= base.state.authority) return { ...place, digest: start.digest };
  // The rows behind the witness may have no row of authority.
  return place.authority === best.authority
    ? { ...place, digest: (await readAuthority(parts, best.authority)).digest }
    : place;
}

/** Resolves to the place of the row `end`, which follows `from`. Takes the digests of the rows as they are. */
async function passUpTo({ store, keyring }: AuthorityParts, from: FollowedPlace, end: AuditEntry) {
  const passed = new Map<number, Witness>([[from.sequence, from]]);
  let place = from;
  const [known] = await store.readAudit(from.sequence - 1, 1);
  if (known?.sequence !== from.sequence) throw new BrokenAudit(from, 'is missing');
  if (!isSameBytes(known.link, from.link)) throw new BrokenAudit(from, 'is not the row that a later one names');
  for (let limit = PAGE; place.sequence < end.sequence; ) {
    const rows = await store.readAudit(place.sequence, Math.min(limit, end.sequence - place.sequence));
    const before = place;
    for (const commit of passCommits(keyring, place, rows, { placeAt: (sequence) => passed.get(sequence) })) {
      ({ place } = commit);
      passed.set(place.sequence, place);
    }
    if (place !== before) continue;
    if (rows.length < limit) throw new BrokenAudit({ sequence: place.sequence + 1 }, 'is missing');
    // The commit has more rows than a page.
    limit *= 2;
  }
  return place;
}

/** Resolves to the authority row at a place. Rejects with `BrokenAudit` if another row is there. */
async function readAuthority({ store, keyring }: AuthorityParts, sequence: number): Promise<AuthorityRow> {
  const [row] = await store.readAudit(sequence - 1, 1);
  if (row?.sequence !== sequence) throw new BrokenAudit({ sequence }, 'is missing');
  return openAuthority(keyring, row);
}

function openAuthority(keyring: FollowKeys, row: AuditEntry): AuthorityRow {
  const { witness, digest, events } = openWitness(keyring, row);
  // The seal binds the row to its place: its witness is the row before it.
  if (digest === undefined || witness.sequence !== row.sequence - 1) {
    throw new BrokenAudit(row, 'is not the row that was written at its place');
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
