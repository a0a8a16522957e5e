import { AUDIT_FACTS, type AuditEvent } from '../core/audit/audit-event.ts';
import type { AuditHead } from '../core/audit/ports.ts';
import { type AuditParts, BrokenAudit, START, walkAudit } from '../core/audit/walk-audit.ts';
import type { Instant } from '../core/ports.ts';

/** What stands for a record that was removed. */
const REMOVED = 0;

/** The tables whose rows the audit accounts for. */
export type LedgerTable = 'tenant' | 'tenant_key' | 'application' | 'token';

/** Stands for every record of a tenant, for comparison. */
export function everythingOf(tenantId: string): string {
  return `* ${tenantId}`;
}

/** The records of a moment, by tenant: what a snapshot of that moment holds. */
export type LedgerState = ReadonlyMap<string, FrozenTenant>;

interface FrozenTenant {
  readonly revision: number;
  readonly since: Instant;
  readonly application: ReadonlyMap<string, number>;
  readonly token: ReadonlyMap<string, number>;
}

/** What the audit says that there is: the revision of each record, or that it was removed. */
export type Ledger = ReturnType<typeof createLedger>;

interface TenantLedger {
  revision: number;
  since: Instant;
  readonly rows: Readonly<Record<Exclude<LedgerTable, 'tenant'>, Map<string, number>>>;
}

/** Names a record, for comparison. */
export function subjectOf(table: LedgerTable | 'header', tenantId: string, id: string): string {
  return `${table} ${tenantId} ${id}`;
}

/** The keys that a tenant begins with: one for its data, one for its indexes. */
const FIRST_KEYS = ['1', '2'] as const;

/**
 * An empty ledger; the events are given to it in order, from the first. `states` has what there was at the places of the
 * audit that loaded snapshots were taken at.
 */
export function createLedger(states: ReadonlyMap<number, LedgerState> = new Map()) {
  const tenants = new Map<string, TenantLedger>();
  const tenantOf = new Map<string, string>();
  let header: string | undefined;

  /** Returns what the event was about, by `subjectOf` or `everythingOf`; empty for an event that changed nothing. */
  function apply(event: AuditEvent, at: Instant): readonly string[] {
    // A read, a denial, or a call that found nothing to change.
    if (event.status >= 400) return [];
    const { action, entities, revision } = event;
    const { effect } = AUDIT_FACTS[action];
    const [table, change] = effect === 'none' ? [] : effect;
    if (table === 'header') {
      header = entities[0];
      return [subjectOf('header', '', '')];
    }
    if (action === 'loadSnapshot') return goBack(states.get(revision ?? 0) ?? new Map());
    const id = event.tenant_id ?? tenantOf.get(event.application_id ?? '') ?? '';
    if (action === 'createTenant') open(id);
    const tenant = tenants.get(id);
    if (tenant === undefined) return [];
    if (table === 'tenant' && change === 'remove') return close(id, tenant);
    if (action === 'resetTokens') {
      tenant.rows.token.clear();
      tenant.since = at;
      return [everythingOf(id)];
    }
    if (table === 'tenant') {
      tenant.revision = revision ?? tenant.revision;
      return [subjectOf('tenant', id, id)];
    }
    if (table === 'tenant_key') {
      tenant.rows.tenant_key.set(String(revision), change === 'upsert' ? 1 : REMOVED);
      return [subjectOf('tenant_key', id, String(revision))];
    }
    // A create that found a duplicate has no revision: nothing was made.
    if (table === undefined || (change === 'upsert' && revision === undefined)) return [];
    for (const entity of entities) {
      tenant.rows[table].set(entity, change === 'upsert' ? (revision ?? REMOVED) : REMOVED);
      if (table === 'application') tenantOf.set(entity, id);
    }
    const subjects = entities.map((entity) => subjectOf(table, id, entity));
    return action === 'createTenant' ? [...subjects, subjectOf('tenant', id, id)] : subjects;
  }

  /** Keys stay as they are, and so do tenants that the snapshot does not know. */
  function goBack(state: LedgerState): readonly string[] {
    const changed: string[] = [];
    for (const [id, frozen] of state) {
      const tenant = tenants.get(id);
      if (tenant === undefined) continue;
      changed.push(everythingOf(id));
      tenant.revision = frozen.revision;
      tenant.since = frozen.since;
      for (const table of ['application', 'token'] as const) {
        tenant.rows[table].clear();
        for (const [entity, revision] of frozen[table]) tenant.rows[table].set(entity, revision);
      }
    }
    return changed;
  }

  function open(id: string): void {
    const rows = { application: new Map(), token: new Map(), tenant_key: new Map(FIRST_KEYS.map((key) => [key, 1])) };
    tenants.set(id, { revision: 1, since: 0, rows });
  }

  function close(id: string, tenant: TenantLedger): readonly string[] {
    tenants.delete(id);
    for (const application of tenant.rows.application.keys()) tenantOf.delete(application);
    return [subjectOf('tenant', id, id)];
  }

  return {
    apply,

    /**
     * The revision that the record must be at; `removed`; undefined for one that was never made. It is crossed off: a second
     * row of the same id is one that was never made.
     */
    take(table: LedgerTable, tenantId: string, id: string): number | 'removed' | undefined {
      const tenant = tenants.get(tenantId);
      if (table === 'tenant') return tenant?.revision;
      const revision = tenant?.rows[table].get(id);
      tenant?.rows[table].delete(id);
      return revision === REMOVED ? 'removed' : revision;
    },

    /** The records of the tenant that were not crossed off, and whether each was removed. */
    *left(table: Exclude<LedgerTable, 'tenant'>, tenantId: string): Generator<readonly [id: string, removed: boolean]> {
      for (const [id, revision] of tenants.get(tenantId)?.rows[table] ?? []) yield [id, revision === REMOVED];
    },

    /** When the tenant's tokens were last removed all at once: no token of before can be there. */
    since: (tenantId: string): Instant => tenants.get(tenantId)?.since ?? 0,
    tenants: () => tenants.keys(),
    /** Of the last change of the header. */
    header: () => header,
    /** A copy of what there is now. */
    freeze: (): LedgerState =>
      new Map(
        [...tenants].map(([id, { revision, since, rows }]) => {
          return [id, { revision, since, application: new Map(rows.application), token: new Map(rows.token) }] as const;
        }),
      ),
  };
}

/** What the audit says up to `head`. */
export interface ReadLedger {
  readonly ledger: Ledger;
  readonly head: AuditHead;
}

/**
 * Reads the audit from its first entry up to now. A snapshot that was loaded takes the ledger back to the place that the
 * snapshot was taken at; which places those are is known only at the end, so an audit with such entries is read twice.
 * Throws `BrokenAudit`.
 */
export async function readLedger(parts: AuditParts): Promise<ReadLedger> {
  const places = new Set<number>();
  for (;;) {
    const known = places.size;
    const read = await readOnce(parts, places);
    if (places.size === known) return read;
  }
}

/** Adds to `places` those that it finds named. */
async function readOnce(parts: AuditParts, places: Set<number>): Promise<ReadLedger> {
  const states = new Map<number, LedgerState>();
  const ledger = createLedger(states);
  let head = START;
  for await (const placed of walkAudit(parts)) {
    const { event, sequence } = placed;
    if (event.action === 'loadSnapshot') {
      const place = event.revision ?? 0;
      if (place < 1 || place >= sequence) throw new BrokenAudit(sequence, 'names a state that there never was');
      places.add(place);
    }
    ledger.apply(event, placed.at);
    if (places.has(sequence)) states.set(sequence, ledger.freeze());
    head = placed;
  }
  return { ledger, head };
}
