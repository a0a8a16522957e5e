import { subjectsOf } from '../core/audit/audit-subjects.ts';
import { loggedRow } from '../core/audit/log-index.ts';
import type { AuditHead, IndexedPlace, LoggedRow } from '../core/audit/ports.ts';
import {
  type AuditParts,
  advanceHeads,
  BrokenAudit,
  type PlacedEvent,
  rowName,
  START,
  walkAudit,
} from '../core/audit/walk-audit.ts';
import type { Keyring } from '../core/ports.ts';
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
}

/**
 * The parts for reading the audit and its index. The reader awaits `rest` from time to time, so that calls need not
 * wait.
 */
export interface LedgerParts extends AuditParts {
  readonly keyring: AuditParts['keyring'] & Pick<Keyring, 'auditSubject'>;
  readonly rest?: (() => Promise<void>) | undefined;
  /** Whether to follow each token. False only counts tokens. Default: true. */
  readonly tokens?: boolean | undefined;
}

/**
 * Returns the ledger of the whole audit up to now. A loaded snapshot resets the ledger to the snapshot's place in the
 * audit. A first pass finds these places and a second pass applies them. Throws `BrokenAudit`.
 */
export async function readLedger(parts: LedgerParts): Promise<ReadLedger> {
  const places = new Set<number>();
  for (;;) {
    const known = places.size;
    const read = await readOnce(parts, places);
    if (places.size === known) return read;
  }
}

/** Reads the audit once. Adds the place of each loaded snapshot to `places`. */
async function readOnce(parts: LedgerParts, places: Set<number>): Promise<ReadLedger> {
  const states = new Map<number, LedgerState>();
  const ledger = createLedger(states, parts.tokens);
  const heads = new Map([[START.chain, START]]);
  const checks = new Map<string, Awaited<ReturnType<typeof chainCheck>>>();
  let [entries, denials] = [0, 0];
  for await (const placed of walkAudit(parts)) {
    const { event, chain, sequence } = placed;
    const check = checks.get(chain) ?? (await chainCheck(parts, chain));
    checks.set(chain, check);
    entries += 1;
    denials += event.counted?.count ?? 0;
    if (event.action === 'loadSnapshot') {
      const place = event.revision ?? 0;
      if (place < 1 || place >= sequence) throw new BrokenAudit(placed, 'names a state that never existed');
      places.add(place);
    }
    ledger.apply(placed);
    await check.expect(placed);
    if (places.has(sequence)) states.set(sequence, ledger.freeze());
    advanceHeads(heads, placed);
  }
  ledger.finish();
  const bad = [...ledger.skips()];
  for (const head of heads.values())
    bad.push(...(await (checks.get(head.chain) ?? (await chainCheck(parts, head.chain))).findings(head)));
  return { ledger, heads: [...heads.values()], entries, denials, bad };
}

/** Returns a check that compares both indexes of a chain with its events, which are passed in order. */
async function chainCheck(parts: LedgerParts, chain: string) {
  const { store, keyring } = parts;
  const index = indexCheck<IndexedPlace>(parts, 'audit_subject', {
    findMissing: (rows) => store.findUnindexed(chain, rows),
    count: (upTo) => store.countAuditIndex(chain, upTo),
  });
  const log = await logCheck(parts, chain);
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

/** Returns a check that compares an index of the audit with the entries, which are passed in order. */
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
 * Returns a check that compares the log index, as far as it covers the audit, with the events, which are passed in
 * order.
 */
async function logCheck(parts: LedgerParts, chain: string) {
  const { store, keyring } = parts;
  const end = await store.logIndexEnd(chain);
  const index = indexCheck<LoggedRow>(parts, 'audit_index', {
    findMissing: (rows) => store.findUnlogged(chain, rows),
    count: () => store.countLogIndex(chain, end),
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
