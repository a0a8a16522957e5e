import type { ApplicationFilter, Minting } from '../../../core/application-ports.ts';
import type { EndedRecord } from '../../../core/audit/ports.ts';
import type { ApplicationRecord, Instant, LeftRows, PageOf, PageRequest } from '../../../core/ports.ts';
import { Problem } from '../../../core/problem.ts';
import type { StoredRow } from '../../rows/columns.ts';
import { type ApplicationColumns, applicationColumns } from '../../rows/record-columns.ts';
import { requireRoom } from '../../rows/require-room.ts';
import { APPLICATION_TYPE_CODES } from '../../rows/type-codes.ts';
import { type Connection, statements } from '../file/driver.ts';
import { leaveDamaged } from './leave-damaged.ts';
import type { TenantRows } from './tenant-rows.ts';
import { uuid, uuidKey, uuidText } from './uuid-bytes.ts';

const APPLICATION = applicationColumns(uuid);

export interface ApplicationRow extends StoredRow<ApplicationColumns> {
  readonly tenant: number;
  readonly tenant_id: Buffer;
}

/** A removed application and the applications that it created. */
export interface RemovedApplications {
  readonly tenant_id: string;
  readonly records: readonly EndedRecord[];
}

interface EndedRow {
  readonly id: Buffer;
  readonly revision: number;
}

const toEnded = ({ id, revision }: EndedRow): EndedRecord => ({ id: uuidText(id), revision });

export const SELECT_APPLICATION = `SELECT a.tenant, t.id AS tenant_id, ${APPLICATION.of('a')}
FROM application a CROSS JOIN tenant t ON t.tenant = a.tenant`;
const LIVE = '(a.expires_at IS NULL OR a.expires_at > ?)';

/** Returns the SQL that limits the column to `values`, with a parameter for each value. */
function among(column: 'id' | 'type' | 'parent_id', values: readonly string[] | undefined): string {
  return values === undefined ? '' : `AND a.${column} IN (${values.map(() => '?').join()})`;
}

/** Returns the functions for the table `application`. All are synchronous; writes need a transaction. */
export function applicationRows(connection: Connection, tenants: TenantRows) {
  const { rows, value } = statements(connection);
  const byKeyHash = rows<[Uint8Array, number], ApplicationRow>(
    `${SELECT_APPLICATION} WHERE a.key_hash = +? AND ${LIVE}`,
  );
  const byId = rows<[number, Buffer | null, number], ApplicationRow>(
    `${SELECT_APPLICATION} WHERE a.tenant = +? AND a.id = +? AND ${LIVE}`,
  );
  const keyHash = value<[number, Buffer | null], Buffer>(
    'SELECT key_hash FROM application WHERE tenant = +? AND id = +?',
  );
  const liveChildren = rows<[number, Buffer | null, number, number], { live: number; next: number | null }>(
    `SELECT count(*) AS live, min(expires_at) AS next FROM application
     WHERE tenant = +? AND parent_id = +? AND expires_at > +? AND expires_at <= +?`,
  );
  const insertRow = rows<unknown[]>(APPLICATION.insertInto('application', 'tenant'));
  const replaceRow = rows<unknown[]>(
    `UPDATE application SET ${APPLICATION.assigned()} WHERE tenant = +? AND id = +? AND revision = +?`,
  );
  const remove = rows<[number, Buffer | null, number]>(
    'DELETE FROM application WHERE tenant = +? AND id = +? AND revision = +?',
  );
  const removeChildren = rows<[number, Buffer | null], EndedRow>(
    'DELETE FROM application WHERE tenant = +? AND parent_id = +? RETURNING id, revision',
  );
  const orLeave = leaveDamaged(connection);
  const expired = rows<[number, string, number], EndedRow & { application: number; tenant: number; tenant_id: Buffer }>(
    `SELECT a.application, a.tenant, n.id AS tenant_id, a.id, a.revision
     FROM application a INDEXED BY application_expiry CROSS JOIN tenant n ON n.tenant = a.tenant
     WHERE a.expires_at <= ? AND a.application NOT IN (SELECT value FROM json_each(?)) ORDER BY a.expires_at LIMIT +?`,
  );
  const removeRow = rows<[number]>('DELETE FROM application WHERE application = +?');
  const everyRevision = rows<[], EndedRow & { tenant_id: Buffer }>(
    'SELECT t.id AS tenant_id, a.id, a.revision FROM application a CROSS JOIN tenant t ON t.tenant = a.tenant',
  );

  return {
    findByKeyHash(keyHash: Uint8Array, now: Instant): { record: ApplicationRecord; tenant: number } | undefined {
      const row = byKeyHash().get(keyHash, now);
      return row && { record: toApplicationRecord(row), tenant: row.tenant };
    },

    /** Returns the revision of each application. */
    revisions: () =>
      everyRevision()
        .all()
        .map(({ tenant_id, ...row }) => ({ tenant_id: uuidText(tenant_id), ...toEnded(row) })),

    find(tenantId: string, id: string, now: Instant): ApplicationRecord | undefined {
      const tenant = tenants.find(tenantId);
      const row = tenant === undefined ? undefined : byId().get(tenant, uuidKey(id), now);
      return row && toApplicationRecord(row);
    },

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
        const parent = uuidKey(record.parent_id);
        const held = keyHash().get(tenant, parent);
        // Reject an application whose creator is gone or has a new key: that change would no longer end it.
        if (held === undefined || (minting && !held.equals(minting.key_hash))) throw new Problem('unauthenticated');
        const { live = 0, next } = (minting && liveChildren().get(tenant, parent, minting.now, minting.latest)) ?? {};
        if (minting) requireRoom(minting, live, next);
      }
      insertRow().run(...APPLICATION.values(record), tenant);
    },

    replace(record: ApplicationRecord, expectedRevision: number): boolean {
      const tenant = tenants.find(record.tenant_id);
      if (tenant === undefined) return false;
      tenants.requireNewestKeys(tenant, record);
      const expected = [tenant, uuidKey(record.id), expectedRevision];
      return replaceRow().run(...APPLICATION.changes(record), ...expected).changes > 0;
    },

    /**
     * Removes the application and its children and returns them. Returns undefined if the application is missing or has
     * another revision.
     */
    remove(tenantId: string, id: string, expectedRevision: number): readonly EndedRecord[] | undefined {
      const tenant = tenants.find(tenantId);
      const key = uuidKey(id);
      if (tenant === undefined || remove().run(tenant, key, expectedRevision).changes === 0) return undefined;
      return [{ id, revision: expectedRevision }, ...removeChildren().all(tenant, key).map(toEnded)];
    },

    /** Removes the applications that an application created, and returns them. */
    removeChildren({ tenant_id, id }: ApplicationRecord): readonly EndedRecord[] {
      const tenant = tenants.find(tenant_id);
      return tenant === undefined ? [] : removeChildren().all(tenant, uuidKey(id)).map(toEnded);
    },

    /**
     * Removes at most `limit` expired applications, earliest expiry first, and their children. Adds damaged rows to
     * `left` and goes on without them.
     */
    removeExpired(now: Instant, limit: number, left: LeftRows['application']): readonly RemovedApplications[] {
      const ended: RemovedApplications[] = [];
      for (const row of expired().all(now, JSON.stringify([...left]), limit)) {
        const removed = orLeave(left, row.application, () => {
          // The row may be gone already: an earlier turn of this loop removes the children of its application.
          if (removeRow().run(row.application).changes === 0) return undefined;
          const records = [row, ...removeChildren().all(row.tenant, row.id)].map(toEnded);
          return { tenant_id: uuidText(row.tenant_id), records };
        });
        if (removed !== undefined) ended.push(removed);
      }
      return ended;
    },
  };
}

export function toApplicationRecord(row: ApplicationRow): ApplicationRecord {
  return APPLICATION.read(row, { tenant_id: uuidText(row.tenant_id) });
}
