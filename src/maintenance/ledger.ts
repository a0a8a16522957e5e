import { changeOf } from '../core/audit/audit-event.ts';
import { subjectsOf } from '../core/audit/audit-subjects.ts';
import { loggedRow } from '../core/audit/log-index.ts';
import type { AuditHead, IndexedPlace, LoggedRow } from '../core/audit/ports.ts';
import { type AuditParts, BrokenAudit, type PlacedEvent, START, walkAudit } from '../core/audit/walk-audit.ts';
import type { Finding } from '../core/maintenance-ports.ts';
import type { Instant, Keyring } from '../core/ports.ts';

/** Marks a removed record. */
const REMOVED = 0;

const SKIPPED = 'was changed from a revision that is not its last one in the audit: an older row had been restored';
const AFTER_REMOVAL = 'was changed after it was removed: its row had been restored';
const OTHER_HEADER =
  'was changed from a state that is not its last one in the audit: an older header had been restored';

/** An audit entry that contradicts earlier entries, or that has no row in the index. */
export interface BadEntry extends Finding {
  readonly sequence: number;
}

/** The tables whose rows the audit covers. */
export type LedgerTable = 'tenant' | 'tenant_key' | 'application' | 'token';

/** Returns the subject for all records of a tenant. */
export function everythingOf(tenantId: string): string {
  return `* ${tenantId}`;
}

/** The records at one moment, by tenant: the contents of a snapshot of that moment. */
export type LedgerState = ReadonlyMap<string, FrozenTenant>;

interface FrozenTenant {
  readonly revision: number;
  readonly since: Instant;
  readonly live: number;
  readonly application: ReadonlyMap<string, number>;
  readonly token: ReadonlyMap<string, number>;
}

/** The revision or the removal of each record, according to the audit. */
export type Ledger = ReturnType<typeof createLedger>;

interface TenantLedger {
  revision: number;
  since: Instant;
  live: number;
  readonly rows: Readonly<Record<Exclude<LedgerTable, 'tenant'>, Map<string, number>>>;
}

/** Returns the subject of a record, a text that identifies it in comparisons. */
export function subjectOf(table: LedgerTable | 'header', tenantId: string, id: string): string {
  return `${table} ${tenantId} ${id}`;
}

/** The ids of a new tenant's keys: one for its data, one for its indexes. */
const FIRST_KEYS = ['1', '2'] as const;

/**
 * Creates an empty ledger. Pass all events to `apply`, in order. `states` must hold the ledger's state at the audit
 * place of each loaded snapshot. With `tokens: false`, the ledger only counts tokens, which needs little memory.
 */
export function createLedger(states: ReadonlyMap<number, LedgerState> = new Map(), tokens = true) {
  const tenants = new Map<string, TenantLedger>();
  let header: string | undefined;
  const skips: BadEntry[] = [];

  /** Applies an event. Returns the subjects that it changed, as `subjectOf` or `everythingOf` name them. */
  function apply({ event, at, sequence }: PlacedEvent): readonly string[] {
    const { action, entities, revision = REMOVED } = event;
    const [table, change] = changeOf(event) ?? [];
    const reject = (table: string, id: string, what: string) => void skips.push({ sequence, table, id, what });
    if (table === 'header') {
      if (header !== entities[1]) reject('header', '', OTHER_HEADER);
      header = entities[0];
      return [subjectOf('header', '', '')];
    }
    if (action === 'loadSnapshot') return goBack(states.get(revision) ?? new Map());
    const { tenant_id: id = '' } = event;
    if (action === 'createTenant') open(id);
    const tenant = tenants.get(id);
    if (tenant === undefined) {
      if (table !== undefined) reject('tenant', id, AFTER_REMOVAL);
      return [];
    }
    if (action === 'resetTokens') {
      tenant.rows.token.clear();
      tenant.live = 0;
      tenant.since = at;
      return [everythingOf(id)];
    }
    if (table === undefined) return [];
    if (table === 'tenant' && change === 'remove') return close(id);
    if (table === 'tenant') {
      if (revision !== tenant.revision + 1) reject('tenant', id, SKIPPED);
      tenant.revision = revision;
      return [subjectOf('tenant', id, id)];
    }
    if (table === 'token' && (change === 'remove' || revision === 1)) {
      tenant.live += change === 'remove' ? -entities.length : entities.length;
    }
    if (table === 'token' && !tokens) return entities.map((entity) => subjectOf(table, id, entity));
    const isKey = table === 'tenant_key';
    // A key has no revisions: it is created once and removed once.
    const after = change === 'remove' ? REMOVED : isKey ? 1 : revision;
    const named = isKey ? [String(revision)] : entities;
    for (const entity of named) {
      const before = tenant.rows[table].get(entity);
      if (before === REMOVED) reject(table, entity, AFTER_REMOVAL);
      else if (after === REMOVED ? before === undefined : after !== (before ?? 0) + 1) reject(table, entity, SKIPPED);
      tenant.rows[table].set(entity, after);
    }
    const subjects = named.map((entity) => subjectOf(table, id, entity));
    return action === 'createTenant' ? [...subjects, subjectOf('tenant', id, id)] : subjects;
  }

  /**
   * Restores the state of a loaded snapshot and returns the changed subjects. Leaves keys unchanged, and tenants that
   * the snapshot does not contain.
   */
  function goBack(state: LedgerState): readonly string[] {
    const changed: string[] = [];
    for (const [id, frozen] of state) {
      const tenant = tenants.get(id);
      if (tenant === undefined) continue;
      changed.push(everythingOf(id));
      tenant.revision = frozen.revision;
      tenant.since = frozen.since;
      tenant.live = frozen.live;
      for (const table of ['application', 'token'] as const) {
        tenant.rows[table].clear();
        for (const [entity, revision] of frozen[table]) tenant.rows[table].set(entity, revision);
      }
    }
    return changed;
  }

  function open(id: string): void {
    const rows = { application: new Map(), token: new Map(), tenant_key: new Map(FIRST_KEYS.map((key) => [key, 1])) };
    tenants.set(id, { revision: 1, since: 0, live: 0, rows });
  }

  function close(id: string): readonly string[] {
    tenants.delete(id);
    return [subjectOf('tenant', id, id)];
  }

  return {
    apply,
    /** Returns the entries that contradict earlier entries. */
    skips: (): readonly BadEntry[] => skips,

    /**
     * Returns the expected revision of a record, or `removed`, or undefined for an unknown record. Removes the record
     * from the ledger, so that a second row with the same id is unknown.
     */
    take(table: LedgerTable, tenantId: string, id: string): number | 'removed' | undefined {
      const tenant = tenants.get(tenantId);
      if (table === 'tenant') return tenant?.revision;
      const revision = tenant?.rows[table].get(id);
      tenant?.rows[table].delete(id);
      return revision === REMOVED ? 'removed' : revision;
    },

    /** Yields the remaining records of a tenant, and whether each was removed. */
    *left(table: Exclude<LedgerTable, 'tenant'>, tenantId: string): Generator<readonly [id: string, removed: boolean]> {
      for (const [id, revision] of tenants.get(tenantId)?.rows[table] ?? []) yield [id, revision === REMOVED];
    },

    /** Returns the time when all tokens of a tenant were last removed. Older tokens cannot exist. */
    since: (tenantId: string): Instant => tenants.get(tenantId)?.since ?? 0,
    /** Returns the number of the tenant's tokens, expired ones included. */
    live: (tenantId: string): number => tenants.get(tenantId)?.live ?? 0,
    tenants: () => tenants.keys(),
    /** Returns the mark of the header's MAC after its last change. */
    header: () => header,
    /** Returns a copy of the current state. */
    freeze: (): LedgerState =>
      new Map(
        [...tenants].map(([id, { revision, since, live, rows }]) => {
          return [
            id,
            { revision, since, live, application: new Map(rows.application), token: new Map(rows.token) },
          ] as const;
        }),
      ),
  };
}

/** The ledger of the audit up to `head`. */
export interface ReadLedger {
  readonly ledger: Ledger;
  readonly head: AuditHead;
  readonly entries: number;
  /** The number of denials in entries that only count them. */
  readonly denials: number;
  readonly bad: readonly BadEntry[];
}

/** The parts for reading the audit and its index. `rest` is awaited from time to time, so that calls need not wait. */
export interface LedgerParts extends AuditParts {
  readonly keyring: AuditParts['keyring'] & Pick<Keyring, 'auditSubject'>;
  readonly rest?: (() => Promise<void>) | undefined;
  /** Whether to follow each token; false only counts them. Default: true. */
  readonly tokens?: boolean | undefined;
}

/**
 * Returns the ledger of the whole audit up to now. A loaded snapshot resets the ledger to the snapshot's place in
 * the audit. A first pass finds these places and a second pass applies them. Throws
 * `BrokenAudit`.
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
  const index = indexCheck<IndexedPlace>(parts, 'audit_subject', {
    findMissing: parts.store.findUnindexed,
    count: () => parts.store.countAuditIndex(head.sequence),
  });
  const log = await logCheck(parts);
  let head = START;
  let [entries, denials] = [0, 0];
  for await (const placed of walkAudit(parts)) {
    const { event, sequence, n } = placed;
    entries += 1;
    denials += event.counted?.count ?? 0;
    if (event.action === 'loadSnapshot') {
      const place = event.revision ?? 0;
      if (place < 1 || place >= sequence) throw new BrokenAudit(sequence, 'names a state that never existed');
      places.add(place);
    }
    ledger.apply(placed);
    const subjects = subjectsOf(event, event.tenant_id);
    const indexed = subjects.map((subject) => ({ n, blind: parts.keyring.auditSubject(subject) }));
    await index.expect({ sequence, subjects: indexed }, indexed.length);
    await log.expect(placed);
    if (places.has(sequence)) states.set(sequence, ledger.freeze());
    head = placed;
  }
  return {
    ledger,
    head,
    entries,
    denials,
    bad: [...ledger.skips(), ...(await index.findings(head)), ...(await log.findings(head))],
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
    readonly count: () => Promise<number>;
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

    async findings({ sequence: last }: AuditHead): Promise<readonly BadEntry[]> {
      await compare();
      if (missing.length > 0) {
        return missing.map((sequence) => ({ sequence, table: 'audit', id: String(sequence), what: UNINDEXED }));
      }
      const surplus = (await count()) > rows;
      return surplus ? [{ sequence: last, table, id: '', what: OVERINDEXED }] : [];
    },
  };
}

/**
 * Returns a check that compares the log index, as far as it covers the audit, with the events, which are passed in
 * order.
 */
async function logCheck(parts: LedgerParts) {
  const { store, keyring } = parts;
  const end = await store.logIndexEnd();
  const index = indexCheck<LoggedRow>(parts, 'audit_index', {
    findMissing: store.findUnlogged,
    count: () => store.countLogIndex(end),
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
