import { START } from '../core/audit/audit-link.ts';
import { headerMark } from '../core/audit/record-digest.ts';
import { BrokenAudit, walkAudit } from '../core/audit/walk-audit.ts';
import type { Finding } from '../core/maintenance-ports.ts';
import type { Instant, TokenRecord } from '../core/ports.ts';
import { wallTime } from '../core/timers.ts';
import type { KeyHolder } from './key-holder.ts';
import { createLedger, everythingOf, type LedgerTable, subjectOf } from './ledger.ts';
import { type LedgerParts, readLedger } from './read-ledger.ts';

const PUT_BACK = 'differs from its last change in the audit: an older row was restored';
const REMOVED = 'is in the audit, but has no row: the row was removed outside the vault';
const REVIVED = 'was removed according to the audit, but has a row: the row was restored';
const OUTLIVED = 'is older than the last reset of all tokens: its row was restored';
const LATE = 'is older than this check, but was missing when the check began: the entry was removed and restored';
const UNSURE = 'cannot be compared: tokens were reset during the check; run the check again';
const MISCOUNTED = 'has a token count that differs from the audit: rows were restored or removed outside the vault';
const UNKNOWN = 'is not in the audit: its row was added outside the vault, or the audit was cut';

/** The maximum number of attempts to read the counters without a change of the audit in between. */
const MAX_TRIES = 20;

/** The maximum time from a write's timestamp to its commit, in milliseconds. A write may wait for other processes. */
const SLACK_MS = 15_000;

/** The columns of a row that are compared with the audit. The row's sealed values are bound to both columns. */
type RowFacts = Pick<TokenRecord, 'revision' | 'created_at'>;

/**
 * Compares the rows with the audit. Finds rows restored, removed or added outside the vault, even if they decrypt.
 * Reads the audit up to now; the caller then passes the rows. Skips a row that changes meanwhile, since it has a later
 * entry. Reports a broken audit as one finding and then compares no rows.
 */
export async function startLedgerCheck(
  parts: Pick<KeyHolder, 'store' | 'keyring'> &
    Pick<LedgerParts, 'rest' | 'tokens' | 'archives'> & { readonly now?: Instant | undefined },
) {
  const { store, now: startedAt = wallTime() } = parts;
  const wrong: (Finding & { readonly subject: string; readonly tenant: string })[] = [];
  const tenants = new Set<string>();
  let broken: Finding | undefined;
  const read = await readLedger(parts).catch((error: unknown) => {
    broken = brokenFinding(error);
    return { ledger: createLedger(), head: START, entries: 0, bad: [], prunedUpTo: 0 };
  });
  const { ledger, bad, entries, prunedUpTo } = read;
  let { head } = read;

  function report(table: LedgerTable | 'header' | 'tombstone', tenantId: string, id: string, what: string): void {
    const record = table === 'tombstone' ? 'token' : table;
    wrong.push({ table, id: id || tenantId, what, subject: subjectOf(record, tenantId, id), tenant: tenantId });
  }

  function reportMissing(): void {
    for (const tenantId of ledger.tenants()) {
      if (!tenants.has(tenantId)) {
        report('tenant', tenantId, tenantId, REMOVED);
        continue;
      }
      for (const table of ['application', 'token', 'tenant_key'] as const) {
        for (const [id, removed] of ledger.left(table, tenantId)) {
          if (!removed) report(table, tenantId, id, REMOVED);
          else if (table === 'token') report('tombstone', tenantId, id, REMOVED);
        }
      }
    }
  }

  /** Compares the counters with the ledger; tries again if the audit changes meanwhile. Gives up after MAX_TRIES. */
  async function checkCounts(): Promise<void> {
    for (let tries = 0; tries < MAX_TRIES && broken === undefined; tries++) {
      for await (const placed of walkAudit(parts, head)) {
        ledger.apply(placed);
        head = placed;
      }
      const found: string[] = [];
      for (const id of ledger.tenants()) {
        const { types } = await store.usage(id, 0, 0);
        if (types.reduce((sum, { count }) => sum + count, 0) !== ledger.live(id)) found.push(id);
      }
      if ((await store.auditHead()).sequence > head.sequence) continue;
      for (const id of found) report('tenant', id, id, MISCOUNTED);
      return;
    }
  }

  async function checkHeader(): Promise<void> {
    const { mac } = await store.header();
    if (ledger.header() !== headerMark(mac)) report('header', '', '', PUT_BACK);
  }

  return {
    entries,
    checkCounts,

    /** Compares a stored row with the ledger. `facts` is undefined if the row has none or they are unreadable. */
    saw(table: LedgerTable, tenantId: string, id: string, facts: RowFacts | undefined): void {
      if (table === 'tenant') tenants.add(id);
      const expected = ledger.take(table, tenantId, id);
      if (expected === undefined) report(table, tenantId, id, UNKNOWN);
      else if (expected === 'removed') report(table, tenantId, id, REVIVED);
      else if (facts !== undefined && expected !== facts.revision) report(table, tenantId, id, PUT_BACK);
      else if (table === 'token' && facts !== undefined && facts.created_at < ledger.since(tenantId) - SLACK_MS) {
        report(table, tenantId, id, OUTLIVED);
      }
    },

    /** Compares a tombstone with the ledger. Accepts one whose entry was pruned: its MAC proves it. */
    sawTombstone(tenantId: string, id: string, deletedAt: Instant | undefined): void {
      const state = ledger.take('token', tenantId, id);
      if (state === undefined && deletedAt !== undefined && deletedAt <= prunedUpTo) return;
      if (state !== 'removed') report('tombstone', tenantId, id, UNKNOWN);
    },

    /** Returns all findings. Call it after the last row. */
    async findings(): Promise<readonly Finding[]> {
      if (broken) return [broken];
      await checkHeader();
      reportMissing();
      const lasting = bad.map(({ table, id, what }) => ({ table, id, what }));
      if (wrong.length === 0) return lasting;
      const touched = new Set<string>();
      const late = new Set<string>();
      try {
        for await (const placed of walkAudit(parts, head)) {
          const subjects = ledger.apply(placed);
          for (const one of subjects) touched.add(one);
          // An old entry must not excuse its subjects: the end of the audit may have been cut off and restored.
          if (subjects.length > 0 && placed.at < startedAt - SLACK_MS) late.add(String(placed.sequence));
        }
      } catch (error) {
        return [brokenFinding(error)];
      }
      if (late.size > 0) return [...late].map((id) => ({ table: 'audit', id, what: LATE }));
      const unexplained = wrong.filter(({ subject }) => !touched.has(subject));
      const isUnsure = (tenant: string) => touched.has(everythingOf(tenant));
      const unsure = new Set(unexplained.map(({ tenant }) => tenant).filter(isUnsure));
      const sure = unexplained.filter(({ tenant }) => !unsure.has(tenant));
      return [
        ...lasting,
        ...sure.map(({ table, id, what }) => ({ table, id, what })),
        ...[...unsure].map((id) => ({ table: 'tenant', id, what: UNSURE })),
      ];
    },
  };
}

function brokenFinding(error: unknown): Finding {
  if (!(error instanceof BrokenAudit)) throw error;
  return { table: 'audit', id: String(error.sequence), what: error.what };
}
