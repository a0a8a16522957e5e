import type { ApplicationKeyRecord } from './application-ports.ts';
import { checkApplicationKey, openApplication } from './applications/application-codec.ts';
import { removeWith } from './applications/removal.ts';
import { namesOf } from './audit/audit-event.ts';
import { removalEvents } from './audit/audit-recorder.ts';
import type { Context } from './handler.ts';
import type { ExpiredRow, ExpiringRecords, Instant, Store, TenantKeyring } from './ports.ts';
import { isDamage, Problem, unlessDamaged } from './problem.ts';
import { recordColumns } from './tokens/clear-columns.ts';
import { openPresented } from './tokens/token-codec.ts';

type Parts = Pick<Context, 'store' | 'keyring' | 'audit' | 'follower'>;

type Remove<Found> = (record: Found, keyring: TenantKeyring, parts: Parts, now: Instant) => Promise<boolean>;

/**
 * Opens an expired record, because only its seal proves when it ends, and removes it. Resolves to false if the record
 * has changed meanwhile. Rejects with `integrity_failure` for a damaged record, or an older one that was put back.
 */
const REMOVE: { readonly [Table in keyof ExpiringRecords]: Remove<ExpiringRecords[Table]> } = {
  async token(record, tenant, { store, keyring, audit }, deleted_at) {
    const { tenant_id, id, type, created_at, revision } = record;
    const columns = recordColumns(record);
    openPresented(tenant, id, record, columns);
    const kept = { tenant_id, id, type, created_by: columns.created_by, created_at, deleted_at };
    const tombstone = { ...kept, mac: keyring.tombstoneMac(kept) };
    const event = { action: 'expireToken', status: 200, tenant_id, ...namesOf([record]) } as const;
    return store.deleteToken(tombstone, revision, audit.draft(event));
  },
  async application(record, tenant, { store, audit, follower }) {
    const { tenant_id, id, revision } = record;
    const { name } = openApplication(tenant, id, record).details;
    if (!(await follower.isCurrent('application', record))) return false;
    const base = { action: 'expireApplication', status: 200, tenant_id, entities: [] } as const;
    return removeWith(
      { keyring: tenant, follower },
      (ended) => audit.draftAuthority(...removalEvents(base, ended, name)),
      (removal) => store.deleteApplication(tenant_id, id, revision, removal),
    );
  },
  async application_key(record, tenant, { store, audit, follower }) {
    const { tenant_id, id, application_id } = record;
    checkApplicationKey(tenant, record);
    const name = await nameOf(store, tenant, record);
    if (!(await follower.isCurrent('application_key', record))) return false;
    const base = { action: 'expireApplicationKey', status: 200, tenant_id, entities: [] } as const;
    return removeWith(
      { keyring: tenant, follower },
      (ended) => audit.draftAuthority(...removalEvents(base, ended, name)),
      (removal) => store.deleteApplicationKey(tenant_id, application_id, id, removal),
    );
  },
};

/** Resolves to the name of a key's application, or to undefined if it is damaged: its keys expire nevertheless. */
function nameOf(store: Store, tenant: TenantKeyring, key: ApplicationKeyRecord): Promise<string | undefined> {
  const { tenant_id, application_id } = key;
  return unlessDamaged(async () => {
    const found = await store.findApplication(tenant_id, application_id, 0);
    return found && openApplication(tenant, application_id, found).details.name;
  });
}

/** The outcome for an expired row. `remaining`: another caller has changed or removed the record meanwhile. */
export type Expiration = 'removed' | 'remaining' | 'damaged';

/**
 * Removes at most `limit` expired records of a table, earliest expiry first, and adds the rows that stay to `skipped`.
 * Resolves to the outcome for each row. Tokens leave a tombstone without `deleted_by`.
 */
export async function removeExpired<Table extends keyof ExpiringRecords>(
  parts: Parts,
  table: Table,
  { now, limit, skipped }: { readonly now: Instant; readonly limit: number; readonly skipped: Set<number> },
): Promise<readonly Expiration[]> {
  const { store, keyring } = parts;
  const remove: Remove<ExpiringRecords[Table]> = REMOVE[table];

  async function removeRow({ row, record }: ExpiredRow<ExpiringRecords[Table]>): Promise<Expiration> {
    try {
      if (record === undefined) throw new Problem('integrity_failure');
      const owner = await store.findTenant(record.tenant_id);
      if (owner !== undefined && (await remove(record, keyring.openTenant(record.tenant_id, owner.keys), parts, now))) {
        return 'removed';
      }
      skipped.add(row);
      return 'remaining';
    } catch (error) {
      if (!isDamage(error)) throw error;
      skipped.add(row);
      return 'damaged';
    }
  }

  const expirations: Promise<Expiration>[] = [];
  for (const row of await store.findExpired(table, now, limit, skipped)) {
    const expiry = removeRow(row);
    expirations.push(expiry);
    // Each change of authority follows the audit first, so that it opens few rows under the lock.
    if (table !== 'token') await expiry;
  }
  return Promise.all(expirations);
}
