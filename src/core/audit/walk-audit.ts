import { isSameBytes } from '../bytes.ts';
import type { Instant, Keyring } from '../ports.ts';
import { isDamage, Problem } from '../problem.ts';
import { decodeRowEvents, decodeWitness, type TimedEvent } from './audit-event.ts';
import { linkOf, START, UNLINKED } from './audit-link.ts';
import type { AuditEntry, AuditHead, AuditPosition, AuditReads, Witness } from './ports.ts';
import { createSeenRows, type SeenRows } from './seen-rows.ts';

/** The number of rows in one read. */
const PAGE = 100;

/** An opened entry with its position. */
export interface PositionedEvent extends AuditPosition, TimedEvent {
  /** The link of its row. */
  readonly link: Uint8Array;
  /** Whether it is the last entry of its row. */
  readonly isLast: boolean;
  readonly witness: Witness;
  /** The digest of its row, if that is a row of authority. */
  readonly digest: bigint | undefined;
}

/** The error for damage in the audit, at the first wrong row. */
export class BrokenAudit extends Error {
  override readonly name = 'BrokenAudit';
  readonly sequence: number;
  readonly what: string;

  constructor({ sequence }: Pick<AuditPosition, 'sequence'>, what: string) {
    super(`row ${sequence} of the audit ${what}`);
    this.sequence = sequence;
    this.what = what;
  }
}

/** Returns the problem `integrity_failure` for damage in the audit, and any other error unchanged. */
export function problemOf(cause: unknown): unknown {
  return cause instanceof BrokenAudit ? new Problem('integrity_failure', { cause }) : cause;
}

export interface AuditReadParts {
  readonly store: Pick<AuditReads, 'readAudit' | 'auditHead'>;
  readonly keyring: Pick<Keyring, 'openAuditEvent' | 'auditSubject' | 'isAuditBase'>;
}

/** The number of links that a walk remembers for witnesses. Others are read again. */
const REMEMBERED = 1000;

/**
 * Yields the events after `from` up to now. Checks the link of each commit before its events, and that each witness is
 * the row which it names. Throws `BrokenAudit` at a row that was altered, removed, added or moved. Missing rows at the
 * end are only detected by a comparison with a recorded end. `seen` has the rows of earlier walks, of which none may
 * return.
 */
export async function* walkAudit(
  parts: AuditReadParts,
  from: AuditHead = START,
  seen?: SeenRows,
): AsyncGenerator<PositionedEvent> {
  const { store } = parts;
  const { sequence: end } = await store.auditHead();
  const check = checkRows(parts, from, seen);
  let last = from.sequence;
  while (last < end) {
    const entries = await store.readAudit(last, Math.min(PAGE, end - last));
    if (entries.length === 0) throw new BrokenAudit({ sequence: last + 1 }, MISSING);
    for (const entry of entries) yield* await check.next(entry);
    last = entries.at(-1)?.sequence ?? last;
  }
  check.end();
}

const MISSING = 'is missing';
const ALTERED = 'was altered or moved';

/**
 * Returns a check of the rows that follow `from`, which gets them in order. Throws `BrokenAudit` at the first row that is
 * not the one which was written.
 */
export function checkRows(parts: AuditReadParts, from: AuditHead, seen = createSeenRows()) {
  const { store, keyring } = parts;
  const links = new Map<number, Uint8Array>();
  let head = from;
  let last = from.sequence;
  /** The rows of the commit that is read. */
  let commit: AuditEntry[] = [];

  /** Resolves to whether a row is behind the one that its writer knew. Nothing can compare one before `from`. */
  async function isBehind(row: AuditEntry, { sequence, link }: AuditHead): Promise<boolean> {
    if (sequence >= row.sequence) return false;
    if (sequence < from.sequence) return true;
    if (sequence === from.sequence) return isSameBytes(from.link, link);
    const [found] = links.has(sequence) ? [] : await store.readAudit(sequence - 1, 1);
    return isSameBytes(links.get(sequence) ?? found?.link ?? UNLINKED, link);
  }

  async function opened(row: AuditEntry): Promise<readonly PositionedEvent[]> {
    const { witness, positioned } = openWhole(keyring, row);
    const isKnown = await isBehind(row, witness);
    if (!isKnown) throw new BrokenAudit(row, `was written after another row ${witness.sequence}`);
    return positioned;
  }

  return {
    /** Resolves to the events of the commit that ends with this row; to none if the commit goes on. */
    async next(row: AuditEntry): Promise<readonly PositionedEvent[]> {
      if (row.sequence !== last + 1) throw new BrokenAudit({ sequence: last + 1 }, MISSING);
      last = row.sequence;
      if (seen.has(row.sealed)) throw new BrokenAudit(row, 'is a copy of an earlier row');
      commit.push(row);
      if (row.link.length === 0) return [];
      if (!isSameBytes(linkOf(head.link, commit), row.link)) throw new BrokenAudit(await firstWrong(), ALTERED);
      const rows = commit;
      [head, commit] = [row, []];
      links.set(row.sequence, row.link);
      if (links.size > REMEMBERED) links.delete(links.keys().next().value ?? 0);
      const positioned: PositionedEvent[] = [];
      for (const each of rows) positioned.push(...(await opened(each)));
      return positioned;
    },

    /** Throws if the last row has no link. */
    end(): void {
      const [row] = commit;
      if (row !== undefined) throw new BrokenAudit(row, 'has no link behind it');
    },
  };

  /** Resolves to the first row of the commit that does not open, or else to its last one. */
  async function firstWrong(): Promise<AuditEntry> {
    for (const row of commit) {
      try {
        openWhole(keyring, row);
      } catch {
        return row;
      }
    }
    return commit.at(-1) ?? { ...head, at: 0, sealed: new Uint8Array() };
  }
}

/**
 * Returns the events of a row without checking its link; none for the base. Throws `BrokenAudit` for a row that does not
 * open.
 */
export function openRow(keyring: AuditReadParts['keyring'], row: AuditEntry): readonly PositionedEvent[] {
  return keyring.isAuditBase(row.sealed) ? [] : openWhole(keyring, row).positioned;
}

/** Returns the witness and the events of a row. Throws `BrokenAudit` for a row that does not open. */
function openWhole(keyring: AuditReadParts['keyring'], row: AuditEntry) {
  const { sequence, link } = row;
  const { opened, text } = openRowText(keyring, row);
  const positioned = decodeRowEvents(row.at, text).map((timed, index, { length }): PositionedEvent => {
    const n = index + 1;
    return { sequence, n, link, isLast: n === length, ...opened, ...timed };
  });
  return { witness: opened.witness, positioned };
}

/** Returns the text of a row and its first line. Throws `BrokenAudit` for a row that does not open. */
export function openRowText(keyring: Pick<Keyring, 'openAuditEvent'>, row: AuditEntry) {
  try {
    const text = keyring.openAuditEvent(row.at, row.sealed);
    return { text, opened: decodeWitness(text) };
  } catch (error) {
    throw isDamage(error) ? new BrokenAudit(row, 'cannot be decrypted') : error;
  }
}

/** The rows that a search reads: from `first` to `last`, without those before `since`. Default: all. */
export interface RowRange {
  readonly first?: number | undefined;
  readonly last?: number | undefined;
  readonly since?: Instant | undefined;
}

/** Resolves to at most `limit` of the last events that match `wanted`, newest first. Does not check the links. */
export async function lastEvents(
  { store, keyring }: AuditReadParts,
  wanted: (positioned: PositionedEvent) => boolean,
  limit: number,
  { first, last = Number.POSITIVE_INFINITY, since = 0 }: RowRange = {},
): Promise<readonly PositionedEvent[]> {
  const found: PositionedEvent[] = [];
  const { sequence: head } = await store.auditHead();
  let expected = Math.min(head, last);
  for await (const row of rowsBackwards(store, expected, first)) {
    if (row.sequence !== expected) throw new BrokenAudit({ sequence: expected }, MISSING);
    expected -= 1;
    // Opening a row authenticates its time.
    const events = openRow(keyring, row);
    if (row.at < since) break;
    found.push(...events.toReversed().filter(wanted));
    if (found.length >= limit) break;
  }
  return found.slice(0, limit);
}

/** Yields the rows from `last` down to `first`, or to the first row that a prune kept. */
export async function* rowsBackwards(
  store: AuditReadParts['store'],
  last: number,
  first = 1,
  page = PAGE,
): AsyncGenerator<AuditEntry> {
  for (let end = last; end >= first; end -= page) {
    const after = Math.max(first - 1, end - page);
    // After a prune, the page may be empty, or contain later rows.
    const rows = (await store.readAudit(after, end - after)).filter(({ sequence }) => sequence <= end);
    if (rows.length === 0) return;
    yield* rows.toReversed();
  }
}
