import type {
  ApplicationFilter,
  ApplicationKeyRecord,
  EndedApplications,
  Minting,
} from '../../../core/application-ports.ts';
import type { ApplicationRecord, Instant, LeftRows, PageOf, PageRequest } from '../../../core/ports.ts';
import { Problem } from '../../../core/problem.ts';
import type { StoredRow } from '../../rows/columns.ts';
import { type ApplicationColumns, applicationColumns } from '../../rows/record-columns.ts';
import { requireRoom } from '../../rows/require-room.ts';
import { APPLICATION_TYPE_CODES } from '../../rows/type-codes.ts';
import { type Connection, statements } from '../file/driver.ts';
import {
  type ApplicationKeyRows,
  type EndedRow,
  everyRow,
  type RevisionRow,
  revisionsOf,
  toEnded,
} from './application-key-rows.ts';
import { leaveDamaged } from './leave-damaged.ts';
import type { TenantRows } from './tenant-rows.ts';
import { uuid, uuidKey, uuidText } from './uuid-bytes.ts';

const APPLICATION = applicationColumns(uuid);

export interface ApplicationRow extends StoredRow<ApplicationColumns> {
  readonly tenant: number;
  readonly tenant_id: Buffer;
}

type Expiring = 'application' | 'application_key';

/** An expired application or key, and what ended with it. */
export interface RemovedApplications {
  readonly tenant_id: string;
  readonly expired: Expiring;
  readonly ended: EndedApplications;
}

interface ExpiredRow extends EndedRow {
  readonly row: number;
  readonly tenant: number;
  readonly tenant_id: Buffer;
  /** The application itself, or the one of an expired key. */
  readonly application_id: Buffer;
}

/** Selects expired rows, the earliest first. */
const expiredRows = (table: Expiring, applicationId: string) => `
  SELECT a.${table} AS row, a.tenant, n.id AS tenant_id, a.${applicationId} AS application_id, a.id, a.revision
  FROM ${table} a INDEXED BY ${table}_expiry CROSS JOIN tenant n ON n.tenant = a.tenant
  WHERE a.expires_at <= ? AND a.${table} NOT IN (SELECT value FROM json_each(?)) ORDER BY a.expires_at LIMIT +?`;

export const SELECT_APPLICATION = `SELECT a.tenant, t.id AS tenant_id, ${APPLICATION.of('a')}
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
  const removeMinted = rows<[number, Buffer | null, Buffer | null], EndedRow>(
    'DELETE FROM application WHERE tenant = +? AND parent_id = +? AND parent_key_id = +? RETURNING id, revision',
  );
  const everyRevision = rows<[], RevisionRow>(everyRow('application'));
  const orLeave = leaveDamaged(connection);
  const expired = {
    application: rows<[number, string, number], ExpiredRow>(expiredRows('application', 'id')),
    application_key: rows<[number, string, number], ExpiredRow>(expiredRows('application_key', 'application_id')),
  };
  const removeExpiredRow = {
    application: rows<[number]>('DELETE FROM application WHERE application = +?'),
    application_key: rows<[number]>('DELETE FROM application_key WHERE application_key = +?'),
  };

  /** Returns removed applications, after removing their keys, too. */
  function withKeys(tenant: number, removed: readonly EndedRow[]): EndedApplications {
    const applications = removed.map(toEnded);
    return {
      applications,
      keys: keys.removeOf(
        tenant,
        applications.map(({ id }) => id),
      ),
    };
  }

  /** Removes what ends with a row that was removed: of an application its children, of a key those that it created. */
  function removeWith(table: Expiring, { tenant, application_id, ...row }: ExpiredRow): EndedApplications {
    if (table === 'application') return withKeys(tenant, [row, ...removeChildren().all(tenant, row.id)]);
    const ended = withKeys(tenant, removeMinted().all(tenant, application_id, row.id));
    return { ...ended, keys: [toEnded(row), ...ended.keys] };
  }

  function find(tenantId: string, id: string, now: Instant): ApplicationRecord | undefined {
    const tenant = tenants.find(tenantId);
    const row = tenant === undefined ? undefined : byId().get(tenant, uuidKey(id), now);
    return row && toApplicationRecord(row);
  }

  return {
    find,

    /** Returns the revision of each application. */
    revisions: () => revisionsOf(everyRevision()),

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
     * Removes the application, its children and their keys, and returns them. Returns undefined if the application is
     * missing or has another revision.
     */
    remove(tenantId: string, id: string, expectedRevision: number): EndedApplications | undefined {
      const tenant = tenants.find(tenantId);
      const key = uuidKey(id);
      if (tenant === undefined || key === null) return undefined;
      if (remove().run(tenant, key, expectedRevision).changes === 0) return undefined;
      return withKeys(tenant, [{ id: key, revision: expectedRevision }, ...removeChildren().all(tenant, key)]);
    },

    /**
     * Removes the keys of an application except `kept`, and the applications that it created with their keys, and
     * returns them.
     */
    removeKeys({ tenant_id, id }: ApplicationRecord, kept: ApplicationKeyRecord): EndedApplications {
      const tenant = tenants.need(tenant_id);
      const own = keys.removeOf(tenant, [id], kept.id);
      const ended = withKeys(tenant, removeChildren().all(tenant, uuidKey(id)));
      return { ...ended, keys: [...own, ...ended.keys] };
    },

    /** Removes a key, and the applications that were created with it, and returns them. */
    removeKey(tenantId: string, applicationId: string, id: string): EndedApplications | undefined {
      const tenant = tenants.find(tenantId);
      const own = tenant === undefined ? undefined : keys.remove(tenant, applicationId, id);
      if (tenant === undefined || own === undefined) return undefined;
      const ended = withKeys(tenant, removeMinted().all(tenant, uuidKey(applicationId), uuidKey(id)));
      return { ...ended, keys: [own, ...ended.keys] };
    },

    /**
     * Removes at most `limit` expired rows of a table, earliest expiry first, and what ends with them. Adds damaged rows
     * to `left` and goes on without them.
     */
    removeExpired(
      table: Expiring,
      now: Instant,
      limit: number,
      left: LeftRows[Expiring],
    ): readonly RemovedApplications[] {
      const ended: RemovedApplications[] = [];
      for (const row of expired[table]().all(now, JSON.stringify([...left]), limit)) {
        const removed = orLeave(left, row.row, () => {
          // The row may be gone already: an earlier turn of this loop removes the children of its application.
          if (removeExpiredRow[table]().run(row.row).changes === 0) return undefined;
          return { tenant_id: uuidText(row.tenant_id), expired: table, ended: removeWith(table, row) };
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
