import {
  type CheckpointParts,
  findBeginning,
  hasMoved,
  isPruned,
  keptEvents,
  prunedMeanwhile,
} from '../core/audit/checkpoint.ts';
import { loggedRow } from '../core/audit/log-index.ts';
import type { AuditHead, AuditStore, LoggedRow } from '../core/audit/ports.ts';
import { createSeenRows } from '../core/audit/seen-rows.ts';
import { type PlacedEvent, walkAudit } from '../core/audit/walk-audit.ts';
import { nextTurn } from '../core/own-turn.ts';
import type { Instant } from '../core/ports.ts';
import { type BadEntry, createLedger, type Ledger } from './ledger.ts';

/** The ledger of the audit up to `head`. */
export interface ReadLedger {
  readonly ledger: Ledger;
  readonly head: AuditHead;
  readonly entries: number;
  /** The number of denials in entries that hold only a count. */
  readonly denials: number;
  readonly bad: readonly BadEntry[];
  /** The time of the latest event that a prune removed and no archive supplied; 0 without one. */
  readonly prunedUpTo: Instant;
  /** The time of the latest event in the ledger. */
  readonly latest: Instant;
}

/**
 * The parts for reading the audit and its index. The reader awaits `rest` from time to time, so that calls need not
 * wait.
 */
export interface LedgerParts extends CheckpointParts {
  readonly store: AuditStore;
  readonly rest?: (() => Promise<void>) | undefined;
  /** Whether to follow each token. With false, tokens are only counted. Default: true. */
  readonly tokens?: boolean | undefined;
  /** All pruned rows, oldest first. Default: the checkpoint replaces them. */
  readonly archives?: readonly ArchivedRows[] | undefined;
}

/** The rows of an archive: those after `after`, up to `through`. */
export interface ArchivedRows extends Pick<AuditStore, 'readAudit' | 'auditHead'> {
  readonly after: AuditHead;
  readonly through: AuditHead;
}

/** Returns the ledger of the whole audit up to now. Reads it again after a prune meanwhile. Throws `BrokenAudit`. */
export async function readLedger(parts: LedgerParts): Promise<ReadLedger> {
  for (;;) {
    const { head } = await findBeginning(parts);
    try {
      const read = await readOnce(parts);
      // A prune also removes the index rows of entries that were just read.
      if (read.bad.length === 0 || !(await hasMoved(parts, head))) return read;
    } catch (error) {
      if (!(await isPruned(parts, head, error))) throw error;
    }
  }
}

async function readOnce(parts: LedgerParts): Promise<ReadLedger> {
  const { archives, keyring } = parts;
  const ledger = createLedger(parts.tokens);
  const { head: from, checkpoint } = await findBeginning(parts);
  if (archives !== undefined && archives.at(-1)?.through.sequence !== from.sequence) throw prunedMeanwhile();
  let head = from;
  const check = await indexCheck(parts, from.sequence);
  const prunedUpTo = archives === undefined ? (checkpoint?.latest ?? 0) : 0;
  let [entries, denials, latest] = [0, 0, prunedUpTo];

  function apply(placed: PlacedEvent): void {
    const { event, at } = placed;
    entries += 1;
    denials += event.counted?.count ?? 0;
    latest = Math.max(latest, at);
    ledger.apply(placed);
  }

  if (checkpoint !== undefined && archives === undefined) {
    for await (const { event } of keptEvents(parts, checkpoint)) {
      ledger.keep(event);
      await nextTurn();
    }
  }
  const seen = createSeenRows();
  for (const store of archives ?? []) {
    for await (const placed of walkAudit({ store, keyring }, store.after, seen)) apply(placed);
  }
  for await (const placed of walkAudit(parts, from, seen)) {
    apply(placed);
    await check.expect(placed);
    head = placed;
  }
  const bad = [...ledger.skips(), ...(await check.findings(head))];
  return { ledger, head, entries, denials, bad, prunedUpTo, latest };
}

/** Returns a check that compares the log index, as far as it goes, with the events after the row `first`, in order. */
async function indexCheck(parts: LedgerParts, first: number) {
  const { store, keyring } = parts;
  const end = await store.logIndexEnd();
  const log = logCheck(parts, first, end);
  let row: PlacedEvent[] = [];

  async function endRow(): Promise<void> {
    const sequence = row[0]?.sequence ?? end + 1;
    if (sequence > end) return;
    const logged = loggedRow(keyring, sequence, row);
    await log.expect(logged, logged.blinds.length);
  }

  return {
    async expect(placed: PlacedEvent): Promise<void> {
      const { sequence } = placed;
      if (row[0]?.sequence !== sequence) {
        await endRow();
        row = [];
      }
      row.push(placed);
    },

    async findings(head: AuditHead): Promise<readonly BadEntry[]> {
      await endRow();
      return log.findings(head);
    },
  };
}

/**
 * The number of subjects that are looked up in the index at once. The entry of a batch may have a thousand subjects.
 */
const BATCH = 100;
const UNINDEXED = 'has no row in the index of the audit: the row was removed outside the vault';
const OVERINDEXED = 'has rows without an entry: they were added outside the vault';

/** Returns a check of the rows of the log index between `first` and its end. Pass the expected rows in order. */
function logCheck({ store, rest }: LedgerParts, first: number, end: number) {
  const missing: number[] = [];
  const count = (upTo: number) => store.countLogIndex(Math.min(upTo, end));
  let waiting: LoggedRow[] = [];
  let [held, rows] = [0, 0];

  async function compare(): Promise<void> {
    missing.push(...(await store.findUnlogged(waiting)));
    waiting = [];
    held = 0;
    await rest?.();
  }

  return {
    async expect(row: LoggedRow, size: number): Promise<void> {
      rows += size;
      held += Math.max(1, size);
      waiting.push(row);
      if (held >= BATCH) await compare();
    },

    async findings({ sequence: last }: AuditHead): Promise<readonly BadEntry[]> {
      await compare();
      if (missing.length > 0) {
        return missing.map((sequence) => ({ sequence, table: 'audit', id: String(sequence), what: UNINDEXED }));
      }
      // Count the earlier rows first, because a prune may remove some of them in between.
      const earlier = await count(first);
      const surplus = (await count(last)) - earlier > rows;
      return surplus ? [{ sequence: last, table: 'audit_index', id: '', what: OVERINDEXED }] : [];
    },
  };
}
