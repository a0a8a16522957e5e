import type { Instant, Keyring } from '../ports.ts';
import { Problem } from '../problem.ts';
import { decodeEvents, type TimedEvent } from './audit-event.ts';
import { NO_LINK, ROOT_CHAIN } from './audit-link.ts';
import { notedPlaces } from './chain-events.ts';
import { mergeChains } from './merge-chains.ts';
import type { AuditEntry, AuditHead, AuditPlace, AuditReads } from './ports.ts';

/** The number of rows in one read. */
const PAGE = 100;

export const START: AuditHead = { chain: ROOT_CHAIN, sequence: 0, link: NO_LINK };

const CUT = 'ends before the place that the root records';
export const UNOPENED = 'was never opened';
const CONTINUED = 'continues after its end';

/** An opened entry with its place. */
export interface PlacedEvent extends AuditPlace, TimedEvent {
  /** The link of its row. */
  readonly link: Uint8Array;
}

/** Returns the name of a row: its sequence, after its chain unless that is the root. Row 0 names the whole chain. */
export function rowName({ chain, sequence }: Pick<AuditPlace, 'chain' | 'sequence'>): string {
  if (chain === ROOT_CHAIN) return String(sequence);
  return sequence === 0 ? `chain ${chain}` : `${chain}:${sequence}`;
}

/** The error for damage in the audit, at the first wrong row of a chain. Sequence 0 means the whole chain. */
export class BrokenAudit extends Error {
  override readonly name = 'BrokenAudit';
  readonly chain: string;
  readonly sequence: number;
  readonly what: string;

  constructor(row: Pick<AuditPlace, 'chain' | 'sequence'>, what: string) {
    super(`${row.sequence === 0 ? '' : 'row '}${rowName(row)} of the audit ${what}`);
    this.chain = row.chain;
    this.sequence = row.sequence;
    this.what = what;
  }
}

/** Returns the problem `integrity_failure` for damage in the audit, and any other error unchanged. */
export function problemOf(cause: unknown): unknown {
  return cause instanceof BrokenAudit ? new Problem('integrity_failure', { cause }) : cause;
}

export interface AuditParts {
  readonly store: Pick<AuditReads, 'readAudit' | 'auditHeads'>;
  readonly keyring: Pick<Keyring, 'auditLink' | 'openAuditEvent' | 'auditSubject'>;
}

type WalkedRow = AuditEntry & { readonly placed: readonly PlacedEvent[] };

/**
 * Yields the events after `from` up to now, and checks the chain before each row. Merges the chains by time. Begins
 * each chain at the root's entry that opened it, and compares the places that the root records. Throws `BrokenAudit` at
 * a row that was altered, removed, added or moved. Missing rows at the end of a chain are only detected up to its last
 * recorded place; for the root, only by a comparison with a recorded end.
 */
export async function* walkAudit(parts: AuditParts, from: readonly AuditHead[] = [START]): AsyncGenerator<PlacedEvent> {
  // The ends are of one moment, so the root opens each of these chains before its own end.
  const ends = new Map((await parts.store.auditHeads()).map((end) => [end.chain, end.sequence]));
  const merge = mergeChains<WalkedRow>(1);
  const opened = new Set<string>();
  const open = (head: AuditHead, at: Instant) => {
    opened.add(head.chain);
    merge.add(head.chain, at, walkChain(parts, head, ends.get(head.chain) ?? 0));
  };
  for (const head of from) open(head, 0);
  for (let row = await merge.next(); row !== undefined; row = await merge.next()) {
    for (const { event, chain } of row.placed) {
      if (chain !== ROOT_CHAIN) break;
      const [name = ''] = event.entities;
      if (event.action === 'openChain') {
        if (!ends.has(name)) throw new BrokenAudit({ chain: name, sequence: 0 }, 'is missing');
        open({ chain: name, sequence: 0, link: row.link }, row.at);
      }
      for (const place of notedPlaces(event)) {
        // A suspended process may record its chain after another one has closed it, and a prune has removed it.
        if (!opened.has(place.chain)) continue;
        await checkPlace(parts.store, place, ends.get(place.chain) ?? 0, event.action === 'closeChain');
      }
    }
    yield* row.placed;
  }
  for (const chain of ends.keys()) if (!opened.has(chain)) throw new BrokenAudit({ chain, sequence: 0 }, UNOPENED);
}

/** Updates the last rows of the chains, by chain, after an event of the walk. */
export function advanceHeads(heads: Map<string, AuditHead>, { event, chain, sequence, link }: PlacedEvent): void {
  heads.set(chain, { chain, sequence, link });
  const [opened = ''] = event.entities;
  if (event.action === 'openChain') heads.set(opened, { chain: opened, sequence: 0, link });
}

/** Yields the rows of a chain after `head` up to `end`, each with its events. Throws `BrokenAudit`. */
async function* walkChain({ store, keyring }: AuditParts, from: AuditHead, end: number): AsyncGenerator<WalkedRow> {
  let head = from;
  while (head.sequence < end) {
    const entries = await store.readAudit(from.chain, head.sequence, Math.min(PAGE, end - head.sequence));
    for (const entry of entries.length > 0 ? entries : [undefined]) {
      const placed = openNext(keyring, head, entry);
      if (entry === undefined) return;
      yield { ...entry, placed };
      head = entry;
    }
  }
}

/**
 * Compares a place that the root records with the chain, which ends at `end`. The walk checks the links up to there.
 */
async function checkPlace(store: AuditParts['store'], place: AuditHead, end: number, isLast: boolean): Promise<void> {
  const { chain, sequence, link } = place;
  const whole = { chain, sequence: 0 };
  if (end < sequence) throw new BrokenAudit(whole, CUT);
  if (isLast && end > sequence) throw new BrokenAudit(whole, CONTINUED);
  const [entry] = sequence === 0 ? [] : await store.readAudit(chain, sequence - 1, 1);
  if (entry && Buffer.compare(entry.link, link) !== 0) throw new BrokenAudit(place, 'was altered or moved');
}

/** Returns the events of the row after `head`. Throws `BrokenAudit` if `entry` is not that row. */
function openNext(keyring: AuditParts['keyring'], head: AuditHead, entry: AuditEntry | undefined) {
  const next = { chain: head.chain, sequence: head.sequence + 1 };
  if (entry?.sequence !== next.sequence) throw new BrokenAudit(next, 'is missing');
  const { sequence, at, sealed, link } = entry;
  if (Buffer.compare(keyring.auditLink(head.link, { sequence, at, sealed }), link) !== 0) {
    throw new BrokenAudit(entry, 'was altered or moved');
  }
  return openRow(keyring, entry);
}

/**
 * Resolves to the event at a place. Checks the link of its row to the previous row, or to `before` if that is the
 * previous row. Rejects with `BrokenAudit`.
 */
export async function openPlace({ store, keyring }: AuditParts, place: AuditPlace, before: AuditHead = START) {
  const { chain, sequence, n } = place;
  const isFirst = before.chain === chain && before.sequence === sequence - 1;
  const entries = await store.readAudit(chain, isFirst ? sequence - 1 : sequence - 2, isFirst ? 1 : 2);
  const head = isFirst ? before : entries[0];
  if (head?.sequence !== sequence - 1) throw new BrokenAudit({ chain, sequence: sequence - 1 }, 'is missing');
  const placed = openNext(keyring, head, entries.at(-1))[n - 1];
  if (placed === undefined) throw new BrokenAudit(place, `has no entry ${n}`);
  return placed.event;
}

/** Returns the events of a row without checking the chain. Throws `BrokenAudit` for a row that does not open. */
export function openRow(keyring: AuditParts['keyring'], { chain, sequence, at, sealed, link }: AuditEntry) {
  try {
    const events = decodeEvents(at, keyring.openAuditEvent(at, sealed));
    return events.map((timed, index) => ({ chain, sequence, n: index + 1, link, ...timed }));
  } catch (error) {
    if (error instanceof Problem && error.code === 'integrity_failure') {
      throw new BrokenAudit({ chain, sequence }, 'cannot be decrypted');
    }
    throw error;
  }
}

/**
 * Resolves to at most `limit` of the last events that match `wanted`, newest first. Merges the chains by time. Does not
 * check the chains.
 */
export async function lastEvents(
  { store, keyring }: AuditParts,
  wanted: (placed: PlacedEvent) => boolean,
  limit: number,
): Promise<readonly PlacedEvent[]> {
  const found: PlacedEvent[] = [];
  const merge = mergeChains<AuditEntry>(-1);
  for (const { chain, sequence, at } of await store.auditHeads()) {
    merge.add(chain, at, rowsBackwards(store, chain, sequence));
  }
  for (let row = await merge.next(); row !== undefined && found.length < limit; row = await merge.next()) {
    found.push(...openRow(keyring, row).toReversed().filter(wanted));
  }
  return found.slice(0, limit);
}

/** Yields the rows of a chain from `last` down to `first`, or to the first row that a prune kept. */
export async function* rowsBackwards(
  store: AuditParts['store'],
  chain: string,
  last: number,
  first = 1,
  page = PAGE,
): AsyncGenerator<AuditEntry> {
  for (let end = last; end >= first; end -= page) {
    const after = Math.max(first - 1, end - page);
    // After a prune, the page may be empty, or contain later rows.
    const rows = (await store.readAudit(chain, after, end - after)).filter(({ sequence }) => sequence <= end);
    if (rows.length === 0) return;
    yield* rows.toReversed();
  }
}
