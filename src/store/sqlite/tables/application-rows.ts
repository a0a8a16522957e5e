import type {
  ApplicationFilter,
  ApplicationKeyRecord,
  EndedApplications,
  Minting,
  Removal,
} from '../../../core/application-ports.ts';
import type { ApplicationRecord, Instant, PageOf, PageRequest } from '../../../core/ports.ts';
import { Problem } from '../../../core/problem.ts';
import type { StoredRow } from '../../rows/columns.ts';
import { type ApplicationColumns, applicationColumns } from '../../rows/record-columns.ts';
import { requireQuota } from '../../rows/require-quota.ts';
import { readable } from '../../rows/stored-value.ts';
import { APPLICATION_TYPE_CODES } from '../../rows/type-codes.ts';
import { type Connection, statements } from '../file/driver.ts';
import { type ApplicationKeyRows, everyRow, revisionsOf } from './application-key-rows.ts';
import type { TenantRows } from './tenant-rows.ts';
import { uuid, uuidKey, uuidText } from './uuid-bytes.ts';

const APPLICATION_ROW = applicationColumns(uuid);

export interface ApplicationRow extends StoredRow<ApplicationColumns> {
  readonly tenant: number;
  readonly tenant_id: Buffer;
}

export const SELECT_APPLICATION = `SELECT a.tenant, t.id AS tenant_id, ${APPLICATION_ROW.of('a')}
FROM application a CROSS JOIN tenant t ON t.tenant = a.tenant`;
const LIVE = '(a.expires_at IS NULL OR a.expires_at > ?)';

/** Returns the SQL that limits the column to `values`, with a parameter for each value. */
function among(column: 'id' | 'type' | 'parent_id', values: readonly string[] | undefined): string {
  return values === undefined ? '' : `AND a.${column} IN (${values.map(() => '?').join()})`;
}

/** Returns the functions for the table `application`. All are synchronous; writes need a transaction. */
export function applicationRows(connection: Connection, tenants: TenantRows, keys: ApplicationKeyRows) {
  const { rows, value } = statements(connection);
  const byId = rows<[number, Buffer | null, number], ApplicationRow>(
    `${SELECT_APPLICATION} WHERE a.tenant = +? AND a.id = +? AND ${LIVE}`,
  );
  const liveChildren = rows<[number, Buffer | null, number, number], { live: number; next: number | null }>(
    `SELECT count(*) AS live, min(expires_at) AS next FROM application
     WHERE tenant = +? AND parent_id = +? AND expires_at > +? AND expires_at <= +?`,
  );
  const insertRow = rows<unknown[]>(APPLICATION_ROW.insertInto('application', 'tenant'));
  const replaceRow = rows<unknown[]>(
    `UPDATE application SET ${APPLICATION_ROW.assigned()} WHERE tenant = +? AND id = +? AND revision = +?`,
  );
  const remove = rows<[number, Buffer | null, number]>(
    'DELETE FROM application WHERE tenant = +? AND id = +? AND revision = +?',
  );
  const children = rows<[number, Buffer | null], ApplicationRow>(
    `${SELECT_APPLICATION} WHERE a.tenant = +? AND a.parent_id = +?`,
  );
  const everyRevision = value<[], string | null>(everyRow('application'));
  /** Removes applications with their keys, and returns both. */
  function end(tenant: number, ended: readonly ApplicationRecord[], isGenuine: Removal['isGenuine']) {
    for (const { id, revision } of ended) remove().run(tenant, uuidKey(id), revision);
    const ids = ended.map(({ id }) => id);
    return { applications: ended, keys: keys.removeOf(tenant, ids, isGenuine) };
  }

  /** Returns the genuine applications that an application created; with `keyId`, only those created with this key. */
  function childrenOf(
    tenant: number,
    id: string,
    { isGenuine }: Removal,
    keyId?: string,
  ): readonly ApplicationRecord[] {
    return readable(children().all(tenant, uuidKey(id)), toApplicationRecord).filter(
      (record) => (keyId === undefined || record.parent_key_id === keyId) && isGenuine(record),
    );
  }

  function find(tenantId: string, id: string, now: Instant): ApplicationRecord | undefined {
    const tenant = tenants.find(tenantId);
    const row = tenant === undefined ? undefined : byId().get(tenant, uuidKey(id), now);
    return row && toApplicationRecord(row);
  }

  return {
    find,

    /** Returns the revision of each application. */
    revisions: () => revisionsOf(everyRevision().get() ?? ''),

    page(filter: ApplicationFilter, page: PageRequest, now: Instant): PageOf<ApplicationRecord> {
      const { tenant_id, ids, types, parent_id, latest } = filter;
      const parents = parent_id === undefined ? undefined : [parent_id];
      const tenant = tenants.find(tenant_id);
      if (tenant === undefined) return { records: [], total: 0 };
      const wanted = [
        ...(ids ?? []).map(uuidKey),
        ...(types ?? []).map((type) => APPLICATION_TYPE_CODES[type]),
        ...(parents ?? []).map(uuidKey),
        ...(latest === undefined ? [] : [latest]),
      ];
      const conditions = [among('id', ids), among('type', types), among('parent_id', parents)];
      const end = latest === undefined ? '' : 'AND a.expires_at <= ?';
      const where = `a.tenant = +? AND ${LIVE} ${conditions.join(' ')} ${end}`;
      const count = value<unknown[], number>(`SELECT count(*) FROM application a WHERE ${where}`);
      const found = rows<unknown[], ApplicationRow>(
        `${SELECT_APPLICATION} WHERE ${where} ORDER BY a.created_at DESC, a.id LIMIT +? OFFSET +?`,
      );
      const records = found()
        .all(tenant, now, ...wanted, page.limit, page.offset)
        .map(toApplicationRecord);
      return { records, total: count().get(tenant, now, ...wanted) ?? 0 };
    },

    insert(record: ApplicationRecord, minting?: Minting): void {
      const tenant = tenants.need(record.tenant_id);
      tenants.requireNewestKeys(tenant, record);
      if (record.parent_id !== undefined) {
        // Reject an application whose creator or its key is gone: the removal of the key would no longer end it.
        if (!keys.has(tenant, record.parent_id, record.parent_key_id)) throw new Problem('unauthenticated');
        const parent = uuidKey(record.parent_id);
        const { live = 0, next } = (minting && liveChildren().get(tenant, parent, minting.now, minting.latest)) ?? {};
        if (minting) requireQuota(minting, live, next);
      }
      insertRow().run(...APPLICATION_ROW.values(record), tenant);
    },

    replace(record: ApplicationRecord, expectedRevision: number): boolean {
      const tenant = tenants.find(record.tenant_id);
      if (tenant === undefined) return false;
      tenants.requireNewestKeys(tenant, record);
      const expected = [tenant, uuidKey(record.id), expectedRevision];
      return replaceRow().run(...APPLICATION_ROW.changes(record), ...expected).changes > 0;
    },

    /**
     * Removes the application, its children and their keys, and returns them. Returns undefined if the application is
     * missing or has another revision.
     */
    remove(tenantId: string, id: string, expectedRevision: number, removal: Removal): EndedApplications | undefined {
      const tenant = tenants.find(tenantId);
      const own = find(tenantId, id, 0);
      if (tenant === undefined || own?.revision !== expectedRevision) return undefined;
      return end(tenant, [own, ...childrenOf(tenant, id, removal)], removal.isGenuine);
    },

    /**
     * Removes the keys of an application except `kept`, and the applications that it created with their keys, and
     * returns them.
     */
    removeKeys({ tenant_id, id }: ApplicationRecord, kept: ApplicationKeyRecord, removal: Removal): EndedApplications {
      const tenant = tenants.need(tenant_id);
      const own = keys.removeOf(tenant, [id], removal.isGenuine, kept.id);
      const ended = end(tenant, childrenOf(tenant, id, removal), removal.isGenuine);
      return { ...ended, keys: [...own, ...ended.keys] };
    },

    /** Removes a key, and the applications that were created with it, and returns them. */
    removeKey(tenantId: string, applicationId: string, id: string, removal: Removal): EndedApplications | undefined {
      const tenant = tenants.find(tenantId);
      const own = tenant === undefined ? undefined : keys.remove(tenant, applicationId, id);
      if (tenant === undefined || own === undefined) return undefined;
      const ended = end(tenant, childrenOf(tenant, applicationId, removal, id), removal.isGenuine);
      return { ...ended, keys: [own, ...ended.keys] };
    },
  };
}

export function toApplicationRecord(row: ApplicationRow): ApplicationRecord {
  return APPLICATION_ROW.read(row, { tenant_id: uuidText(row.tenant_id) });
}
