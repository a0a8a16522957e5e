import { ROOT_CHAIN } from '../core/audit/audit-link.ts';
import { subjectsOf } from '../core/audit/audit-subjects.ts';
import { type CheckpointParts, findBeginning, isPruned, keptEvents } from '../core/audit/checkpoint.ts';
import { loggedRow } from '../core/audit/log-index.ts';
import type { AuditEntry, AuditHead, AuditStore, IndexedPlace, LoggedRow } from '../core/audit/ports.ts';
import { advanceHeads, BrokenAudit, type PlacedEvent, rowName, START, walkAudit } from '../core/audit/walk-audit.ts';
import { createPace } from '../core/own-turn.ts';
import type { Instant } from '../core/ports.ts';
import { type BadEntry, createLedger, type Ledger, type LedgerState } from './ledger.ts';

/** The ledger of the audit up to `heads`. */
export interface ReadLedger {
  readonly ledger: Ledger;
  /** The last row of each chain, the root first. */
  readonly heads: readonly AuditHead[];
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
  /**
   * Reads the rows of the root that were pruned, as `AuditStore.readAudit` does. Default: the checkpoint replaces them.
   */
  readonly readPruned?: ((after: number, limit: number) => Promise<readonly AuditEntry[]>) | undefined;
  /** The last row of the root to read. Default: the last one. */
  readonly upTo?: number | undefined;
}

/**
 * Returns the ledger of the whole audit up to now. A loaded snapshot resets the ledger to the snapshot's place in the
 * audit. A first pass finds these places and a second pass applies them. Throws `BrokenAudit`.
 */
export async function readLedger(parts: LedgerParts): Promise<ReadLedger> {
  const places = new Set<number>();
  for (;;) {
    const known = places.size;
    const { head } = await findBeginning(parts);
    try {
      const read = await readOnce(parts, places);
      if (places.size === known) return read;
    } catch (error) {
      if (!(await isPruned(parts, head, error))) throw error;
    }
  }
}

/** Reads the audit once. Adds the place of each loaded snapshot to `places`. */
async function readOnce(parts: LedgerParts, places: Set<number>): Promise<ReadLedger> {
  const { readPruned, upTo = Number.POSITIVE_INFINITY } = parts;
  const states = new Map<number, LedgerState>();
  const ledger = createLedger(states, parts.tokens);
  const { head, checkpoint } = await findBeginning(parts);
  const isCovered = readPruned !== undefined;
  if (checkpoint !== undefined && !isCovered) {
    const pace = createPace();
    for await (const { event } of keptEvents(parts, checkpoint)) {
      ledger.keep(event);
      await pace();
    }
  }
  const from = isCovered ? START : head;
  const walked = isCovered ? { ...parts, store: withPruned(parts.store, head.sequence, readPruned) } : parts;
  const heads = new Map([[from.chain, from]]);
  const checks = new Map<string, Awaited<ReturnType<typeof chainCheck>>>();
  const firstOf = (chain: string) => (chain === ROOT_CHAIN ? head.sequence : 0);
  const prunedUpTo = isCovered ? 0 : (checkpoint?.latest ?? 0);
  let [entries, denials, latest] = [0, 0, prunedUpTo];
  for await (const placed of walkAudit(walked, [from])) {
    const { event, chain, sequence, at } = placed;
    if (chain === ROOT_CHAIN && sequence > upTo) break;
    const check = checks.get(chain) ?? (await chainCheck(parts, chain, firstOf(chain)));
    checks.set(chain, check);
    entries += 1;
    denials += event.counted?.count ?? 0;
    latest = Math.max(latest, at);
    if (event.action === 'loadSnapshot') {
      const place = event.revision ?? 0;
      if (place <= from.sequence || place >= sequence)
        throw new BrokenAudit(placed, 'names a state that never existed');
      places.add(place);
    }
    ledger.apply(placed);
    if (sequence > firstOf(chain)) await check.expect(placed);
    if (places.has(sequence)) states.set(sequence, ledger.freeze());
    advanceHeads(heads, placed);
  }
  ledger.finish();
  const bad = [...ledger.skips()];
  for (const head of heads.values()) {
    const check = checks.get(head.chain) ?? (await chainCheck(parts, head.chain, firstOf(head.chain)));
    bad.push(...(await check.findings(head)));
  }
  return { ledger, heads: [...heads.values()], entries, denials, bad, prunedUpTo, latest };
}

/** Returns a store that also has the pruned rows of the root, up to `through`. */
function withPruned(
  store: LedgerParts['store'],
  through: number,
  readPruned: NonNullable<LedgerParts['readPruned']>,
): LedgerParts['store'] {
  const readAudit: AuditStore['readAudit'] = async (chain, after, limit) => {
    if (chain !== ROOT_CHAIN || after >= through) return store.readAudit(chain, after, limit);
    return readPruned(after, Math.min(limit, through - after));
  };
  return { ...store, readAudit };
}

/**
 * Returns a check that compares both indexes of a chain, after the row `first`, with its events. Pass the events in
 * order.
 */
async function chainCheck(parts: LedgerParts, chain: string, first: number) {
  const { store, keyring } = parts;
  const index = indexCheck<IndexedPlace>(parts, 'audit_subject', {
    findMissing: (rows) => store.findUnindexed(chain, rows),
    count: async (upTo) => (await store.countAuditIndex(chain, upTo)) - (await store.countAuditIndex(chain, first)),
  });
  const log = await logCheck(parts, chain, first);
  return {
    async expect(placed: PlacedEvent): Promise<void> {
      const { event, sequence, n } = placed;
      const subjects = subjectsOf(event, event.tenant_id).map((one) => ({ n, blind: keyring.auditSubject(one) }));
      await index.expect({ sequence, subjects }, subjects.length);
      await log.expect(placed);
    },
    findings: async (head: AuditHead) => [...(await index.findings(head)), ...(await log.findings(head))],
  };
}

/**
 * The number of subjects that are looked up in the index at once. The entry of a batch may have a thousand subjects.
 */
const BATCH = 100;
const UNINDEXED = 'has no row in the index of the audit: the row was removed outside the vault';
const OVERINDEXED = 'has rows without an entry: they were added outside the vault';

/** Returns a check that compares an index of the audit with the entries. Pass the entries in order. */
function indexCheck<Row>(
  { rest }: LedgerParts,
  table: string,
  {
    findMissing,
    count,
  }: {
    readonly findMissing: (rows: readonly Row[]) => Promise<readonly number[]>;
    readonly count: (upTo: number) => Promise<number>;
  },
) {
  const missing: number[] = [];
  let waiting: Row[] = [];
  let [held, rows] = [0, 0];

  async function compare(): Promise<void> {
    missing.push(...(await findMissing(waiting)));
    waiting = [];
    held = 0;
    await rest?.();
  }

  return {
    async expect(row: Row, size: number): Promise<void> {
      rows += size;
      held += Math.max(1, size);
      waiting.push(row);
      if (held >= BATCH) await compare();
    },

    async findings({ chain, sequence: last }: AuditHead): Promise<readonly BadEntry[]> {
      await compare();
      if (missing.length > 0) {
        const places = missing.map((sequence) => ({ chain, sequence }));
        return places.map((place) => ({ ...place, table: 'audit', id: rowName(place), what: UNINDEXED }));
      }
      const surplus = (await count(last)) > rows;
      return surplus ? [{ chain, sequence: last, table, id: '', what: OVERINDEXED }] : [];
    },
  };
}

/**
 * Returns a check that compares the log index, as far as it covers the audit, with the events. Pass the events in
 * order.
 */
async function logCheck(parts: LedgerParts, chain: string, first: number) {
  const { store, keyring } = parts;
  const end = await store.logIndexEnd(chain);
  const index = indexCheck<LoggedRow>(parts, 'audit_index', {
    findMissing: (rows) => store.findUnlogged(chain, rows),
    count: async (upTo) =>
      (await store.countLogIndex(chain, Math.min(upTo, end))) -
      (await store.countLogIndex(chain, Math.min(first, end))),
  });
  let row: PlacedEvent[] = [];

  async function endRow(): Promise<void> {
    const sequence = row[0]?.sequence ?? end + 1;
    if (sequence > end) return;
    const logged = loggedRow(keyring, sequence, row);
    await index.expect(logged, logged.blinds.length);
  }

  return {
    async expect(placed: PlacedEvent): Promise<void> {
      if (row[0]?.sequence !== placed.sequence) {
        await endRow();
        row = [];
      }
      row.push(placed);
    },

    async findings(head: AuditHead): Promise<readonly BadEntry[]> {
      await endRow();
      return index.findings(head);
    },
  };
}
