import { type AuditEvent, changeOf } from '../core/audit/audit-event.ts';
import type { AuditPlace } from '../core/audit/ports.ts';
import { FIRST_KEYS } from '../core/audit/record-digest.ts';
import type { PlacedEvent } from '../core/audit/walk-audit.ts';
import type { Finding } from '../core/maintenance-ports.ts';
import type { Instant } from '../core/ports.ts';

/** The state of a removed record. The state of another one is its revision. */
const REMOVED = 0;

const SKIPPED = 'was changed from a revision that is not its last one in the audit: an older row had been restored';
const ENDED_EARLIER = 'was removed at a revision that is not its last one in the audit: an older row had been restored';
const AFTER_REMOVAL = 'was changed after it was removed: its row had been restored';
const OTHER_HEADER =
  'was changed from a state that is not its last one in the audit: an older header had been restored';

/** An audit entry that contradicts earlier entries, or that has no row in the index. */
export interface BadEntry extends Finding, Pick<AuditPlace, 'sequence'> {}

/** The tables whose rows the audit covers. */
export type LedgerTable = 'tenant' | 'tenant_key' | 'application' | 'token';

/** Returns the subject for all records of a tenant. */
export function everythingOf(tenantId: string): string {
  return `* ${tenantId}`;
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

/** The number of records that one audit row of a prune keeps. A change of such a record opens the whole row. */
const KEPT_IN_ROW = 150;

/**
 * Creates an empty ledger. Pass all events to `apply`, in order. With `tokens: false`, the ledger only counts tokens,
 * which needs little memory.
 */
export function createLedger(tokens = true) {
  const tenants = new Map<string, TenantLedger>();
  let header: string | undefined;
  const skips: BadEntry[] = [];

  function reject({ sequence }: PlacedEvent, table: string, id: string, what: string): void {
    skips.push({ sequence, table, id, what });
  }

  /** Applies an event. Returns the subjects that it changed, as `subjectOf` or `everythingOf` name them. */
  function apply(placed: PlacedEvent): readonly string[] {
    const { event, at } = placed;
    const { action, entities, revision = 0 } = event;
    if (event.as_of !== undefined) return [];
    const [table, change] = changeOf(event) ?? [];
    if (table === 'header') {
      if (header !== entities[1]) reject(placed, 'header', '', OTHER_HEADER);
      header = entities[0];
      return [subjectOf('header', '', '')];
    }
    const { tenant_id: id = '' } = event;
    if (action === 'createTenant') open(id);
    const tenant = tenants.get(id);
    if (tenant === undefined) {
      if (table !== undefined) reject(placed, 'tenant', id, AFTER_REMOVAL);
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
      if (revision !== tenant.revision + 1) reject(placed, 'tenant', id, SKIPPED);
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
    const rows = tenant.rows[table];
    for (const [n, entity] of named.entries()) {
      const before = rows.get(entity);
      const from = change !== 'remove' ? after - 1 : isKey ? 1 : event.ended?.[n];
      if (before === REMOVED) reject(placed, table, entity, AFTER_REMOVAL);
      else if ((before ?? 0) !== from) reject(placed, table, entity, change === 'remove' ? ENDED_EARLIER : SKIPPED);
      rows.set(entity, after);
    }
    const subjects = named.map((entity) => subjectOf(table, id, entity));
    return action === 'createTenant' ? [...subjects, subjectOf('tenant', id, id)] : subjects;
  }

  /** Applies an event that keeps the state of records at the beginning of the audit. */
  function keep({ action, tenant_id: id = '', revision = 0, entities }: AuditEvent): void {
    if (action === 'keepHeader') header = entities[0];
    if (action === 'keepTenant') {
      const [since, live, ...keys] = entities;
      open(id, keys);
      Object.assign(tenants.get(id) ?? {}, { revision, since: Number(since), live: Number(live) });
    }
    const table = action === 'keepApplications' ? 'application' : 'token';
    if (action === 'keepApplications' || (action === 'keepTokens' && tokens)) {
      for (const entity of entities) tenants.get(id)?.rows[table].set(entity, revision);
    }
  }

  /** Yields the events that keep the state of all records, those of one audit row together. Pass them to `keep`. */
  function* kept(as_of: number): Generator<readonly AuditEvent[]> {
    const about = { status: 200, as_of };
    yield [{ ...about, action: 'keepHeader', entities: header === undefined ? [] : [header] }];
    for (const [tenant_id, { revision, since, live, rows }] of tenants) {
      const keys = [...alive(rows.tenant_key)].map(([id]) => id);
      const entities = [String(since), String(live), ...keys];
      yield [{ ...about, action: 'keepTenant', tenant_id, revision, entities }];
      for (const [action, records] of [
        ['keepApplications', rows.application],
        ['keepTokens', rows.token],
      ] as const) {
        for (const row of rowsOf(alive(records))) {
          yield [...Map.groupBy(row, ([, state]) => state)].map(([state, group]) => {
            return { ...about, action, tenant_id, revision: state, entities: group.map(([id]) => id) };
          });
        }
      }
    }
  }

  function open(id: string, keys: readonly string[] = FIRST_KEYS): void {
    const rows = { application: new Map(), token: new Map(), tenant_key: new Map(keys.map((key) => [key, 1])) };
    tenants.set(id, { revision: 1, since: 0, live: 0, rows });
  }

  function close(id: string): readonly string[] {
    tenants.delete(id);
    return [subjectOf('tenant', id, id)];
  }

  return {
    apply,
    keep,
    kept,
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
  };
}

/** Yields the records that were not removed. */
function* alive(records: ReadonlyMap<string, number>): Generator<readonly [id: string, revision: number]> {
  for (const record of records) if (record[1] !== REMOVED) yield record;
}

function* rowsOf(records: Iterable<readonly [id: string, revision: number]>) {
  let row: (readonly [id: string, revision: number])[] = [];
  for (const record of records) {
    row.push(record);
    if (row.length < KEPT_IN_ROW) continue;
    yield row;
    row = [];
  }
  if (row.length > 0) yield row;
}
