import { isSameBytes } from '../bytes.ts';
import type { Keyring } from '../ports.ts';
import { type AuditEvent, decodeRowEvents, type decodeWitness } from './audit-event.ts';
import { linkOf } from './audit-link.ts';
import type { AuditEntry, Witness } from './ports.ts';
import { addDigests, changesOf, decodeDigest, digestOf, isOfAuthority, removesTenant } from './record-digest.ts';
import { BrokenAudit, openRowText } from './walk-audit.ts';

/** A row with a link, the last authority row up to it, and the digest of that row. */
export interface FollowedPosition extends Witness {
  readonly digest: bigint;
}

export type FollowKeys = Pick<Keyring, 'openAuditEvent' | 'recordHash'>;

/** The first line of a row, and the events of an authority row; none for another row. */
export interface OpenedWitness extends ReturnType<typeof decodeWitness> {
  readonly events: readonly AuditEvent[];
}

/** Returns the witness of a row, and the events of an authority row. Throws `BrokenAudit` for a row that does not open. */
export function openWitness(keyring: Pick<Keyring, 'openAuditEvent'>, row: AuditEntry): OpenedWitness {
  const { opened, text } = openRowText(keyring, row);
  return {
    ...opened,
    events: opened.digest === undefined ? [] : decodeRowEvents(row.at, text).map(({ event }) => event),
  };
}

/** A commit that was passed. */
export interface PassedCommit {
  readonly position: FollowedPosition;
  /** The events of an authority row; none for other rows. */
  readonly events: readonly AuditEvent[];
}

export interface Following {
  /** Returns a position that was passed, or undefined for one that is forgotten. */
  readonly positionAt: (sequence: number) => Witness | undefined;
  /** Returns the sum of a tenant's records before the row. Absent: takes the digests of the rows as they are. */
  readonly sumOf?: (tenantId: string) => bigint;
}

/**
 * Yields the commits that follow a position, one or more rows each. Compares their links, their digests, and their
 * witnesses as far as `positionAt` remembers them. Leaves out rows at the end without a link behind them. Throws
 * `BrokenAudit` at the first row that is not the one which was written.
 */
export function* passCommits(
  keyring: FollowKeys,
  from: FollowedPosition,
  rows: readonly AuditEntry[],
  following: Following,
): Generator<PassedCommit> {
  let position = from;
  let commit: AuditEntry[] = [];
  for (const row of rows) {
    const sequence = position.sequence + commit.length + 1;
    if (row.sequence !== sequence) throw new BrokenAudit({ sequence }, 'is missing');
    commit.push(row);
    if (row.link.length === 0) continue;
    if (!isSameBytes(linkOf(position.link, commit), row.link)) throw new BrokenAudit(row, 'was altered or moved');
    let passed: PassedCommit = { position: { ...position, sequence, link: row.link }, events: [] };
    for (const each of commit) {
      const opened = openWitness(keyring, each);
      requireWitness(each, opened.witness, following.positionAt(opened.witness.sequence));
      if (opened.events.length > 0) passed = passAuthority(keyring, position, row, opened, following);
    }
    ({ position } = passed);
    commit = [];
    yield passed;
  }
}

function requireWitness(row: AuditEntry, witness: Witness, known: Witness | undefined): void {
  const isBehind = witness.sequence < row.sequence;
  const isKnown =
    known === undefined || (isSameBytes(known.link, witness.link) && known.authority === witness.authority);
  if (!isBehind || !isKnown) throw new BrokenAudit(row, `was written after another row ${witness.sequence}`);
}

/** Passes an authority row: the only row of its commit, written behind the row before it. */
function passAuthority(
  keyring: FollowKeys,
  before: FollowedPosition,
  row: AuditEntry,
  { witness, digest = 0n, events }: OpenedWitness,
  { sumOf }: Following,
): PassedCommit {
  const isNext = witness.sequence === before.sequence && row.sequence === before.sequence + 1;
  if (!isNext || !events.every(isOfAuthority)) throw new BrokenAudit(row, MISPLACED);
  if (sumOf !== undefined && digest !== addDigests(before.digest, addedBy(keyring, events, sumOf))) {
    throw new BrokenAudit(row, 'contradicts the entries before it');
  }
  return { position: { sequence: row.sequence, link: row.link, authority: row.sequence, digest }, events };
}

const MISPLACED = 'is not the row that was written at its position';

/** Returns what the events of a row add to the digest of all records. */
export function addedBy(
  keyring: FollowKeys,
  events: readonly AuditEvent[],
  sumOf: (tenantId: string) => bigint,
): bigint {
  return events.reduce((sum, event) => addDigests(sum, addedByOne(keyring, event, sumOf)), 0n);
}

function addedByOne(keyring: FollowKeys, event: AuditEvent, sumOf: (tenantId: string) => bigint): bigint {
  const { tenant_id = '' } = event;
  if (removesTenant(event)) return -sumOf(tenant_id);
  if (event.action === 'acceptTenant') return decodeDigest(event.entities[0] ?? '') - sumOf(tenant_id);
  return changesOf(event).reduce((sum, change) => addDigests(sum, digestOf(keyring, change)), 0n);
}
