import type { ApplicationRecord, Instant, PageOf, PageRequest } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import type { Connection } from './driver.ts';
import { once } from './once.ts';
import { optionalNumber, storedBytes, storedNumber } from './stored-value.ts';
import type { TenantRows } from './tenant-rows.ts';
import { APPLICATION_TYPE_CODES, applicationType } from './type-codes.ts';
import { optionalUuidBytes, optionalUuidText, uuidBytes, uuidKey, uuidText } from './uuid-bytes.ts';

export interface ApplicationRow {
  readonly tenant: number;
  readonly tenant_id: Buffer;
  readonly id: Buffer;
  readonly type: number;
  readonly key_hash: Buffer;
  readonly parent_id: Buffer | null;
  readonly created_by: Buffer | null;
  readonly created_at: number;
  readonly modified_by: Buffer | null;
  readonly modified_at: number | null;
  readonly expires_at: number | null;
  readonly revision: number;
  readonly key_id: number;
  readonly details: Buffer;
}

/** An application that was removed and, behind it, those that ended with it. */
export interface DismissedApplications {
  readonly tenant_id: string;
  readonly ids: readonly string[];
}

export const SELECT_APPLICATION = `SELECT a.tenant, t.id AS tenant_id, a.id, a.type, a.key_hash, a.parent_id, a.created_by, a.created_at,
  a.modified_by, a.modified_at, a.expires_at, a.revision, a.key_id, a.details
FROM application a CROSS JOIN tenant t ON t.tenant = a.tenant`;
const LIVE = '(a.expires_at IS NULL OR a.expires_at > ?)';

/** The table `application`. All functions are synchronous and need a transaction where they write. */
export function applicationRows(connection: Connection, tenants: TenantRows) {
  const byKeyHash = once(() =>
    connection.prepare<[Uint8Array, number], ApplicationRow>(`${SELECT_APPLICATION} WHERE a.key_hash = +? AND ${LIVE}`),
  );
  const byId = once(() =>
    connection.prepare<[number, Buffer | null, number], ApplicationRow>(
      `${SELECT_APPLICATION} WHERE a.tenant = +? AND a.id = +? AND ${LIVE}`,
    ),
  );
  const exists = once(() =>
    connection.prepare<[number, Buffer | null]>('SELECT 1 FROM application WHERE tenant = +? AND id = +?'),
  );
  const insertRow = once(() =>
    connection.prepare<
      [
        number,
        Buffer,
        number,
        Uint8Array,
        Buffer | null,
        Buffer | null,
        number,
        Buffer | null,
        number | null,
        number | null,
        number,
        number,
        Uint8Array,
      ]
    >(
      `INSERT INTO application (tenant, id, type, key_hash, parent_id, created_by, created_at, modified_by, modified_at,
         expires_at, revision, key_id, details)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
  );
  const replaceRow = once(() =>
    connection.prepare<
      [
        Uint8Array,
        Buffer | null,
        number | null,
        number | null,
        number,
        number,
        Uint8Array,
        number,
        Buffer | null,
        number,
      ]
    >(
      `UPDATE application SET key_hash = ?, modified_by = ?, modified_at = ?, expires_at = ?, revision = ?, key_id = ?,
         details = ?
       WHERE tenant = +? AND id = +? AND revision = +?`,
    ),
  );
  const remove = once(() =>
    connection.prepare<[number, Buffer | null, number]>(
      'DELETE FROM application WHERE tenant = +? AND id = +? AND revision = +?',
    ),
  );
  const removeChildren = once(() =>
    connection
      .prepare<[number, Buffer | null], Buffer>(
        'DELETE FROM application WHERE tenant = +? AND parent_id = +? RETURNING id',
      )
      .pluck(),
  );
  const expired = once(() =>
    connection.prepare<[number, number], { application: number; tenant: number; tenant_id: Buffer; id: Buffer }>(
      `SELECT a.application, a.tenant, n.id AS tenant_id, a.id
       FROM application a INDEXED BY application_expiry CROSS JOIN tenant n ON n.tenant = a.tenant
       WHERE a.expires_at <= ? ORDER BY a.expires_at LIMIT +?`,
    ),
  );
  const removeRow = once(() => connection.prepare<[number]>('DELETE FROM application WHERE application = +?'));

  return {
    findByKeyHash(keyHash: Uint8Array, now: Instant): { record: ApplicationRecord; tenant: number } | undefined {
      const row = byKeyHash().get(keyHash, now);
      return row && { record: toApplicationRecord(row), tenant: row.tenant };
    },

    find(tenantId: string, id: string, now: Instant): ApplicationRecord | undefined {
      const tenant = tenants.find(tenantId);
      const row = tenant === undefined ? undefined : byId().get(tenant, uuidKey(id), now);
      return row && toApplicationRecord(row);
    },

    page(
      filter: { readonly tenant_id: string; readonly ids?: readonly string[] | undefined },
      page: PageRequest,
      now: Instant,
    ): PageOf<ApplicationRecord> {
      const tenant = tenants.find(filter.tenant_id);
      if (tenant === undefined) return { records: [], total: 0 };
      const ids = filter.ids?.map(uuidKey) ?? [];
      const among = filter.ids === undefined ? '' : `AND a.id IN (${ids.map(() => '?').join()})`;
      const where = `a.tenant = +? AND ${LIVE} ${among}`;
      const total = connection
        .prepare<(number | Buffer | null)[], number>(`SELECT count(*) FROM application a WHERE ${where}`)
        .pluck()
        .get(tenant, now, ...ids);
      const rows = connection
        .prepare<(number | Buffer | null)[], ApplicationRow>(
          `${SELECT_APPLICATION} WHERE ${where} ORDER BY a.created_at DESC, a.id LIMIT +? OFFSET +?`,
        )
        .all(tenant, now, ...ids, page.limit, page.offset);
      return { records: rows.map(toApplicationRecord), total: total ?? 0 };
    },

    insert(record: ApplicationRecord): void {
      const tenant = tenants.need(record.tenant_id);
      tenants.requireNewestKeys(tenant, record);
      // An application that outlived its creator would be a key that nobody can take away.
      if (record.parent_id !== undefined && exists().get(tenant, uuidKey(record.parent_id)) === undefined) {
        throw new Problem('unauthenticated');
      }
      insertRow().run(
        tenant,
        uuidBytes(record.id),
        APPLICATION_TYPE_CODES[record.type],
        record.key_hash,
        optionalUuidBytes(record.parent_id),
        optionalUuidBytes(record.created_by),
        record.created_at,
        optionalUuidBytes(record.modified_by),
        record.modified_at ?? null,
        record.expires_at ?? null,
        record.revision,
        record.key_id,
        record.details,
      );
    },

    replace(record: ApplicationRecord, expectedRevision: number): boolean {
      const tenant = tenants.find(record.tenant_id);
      if (tenant === undefined) return false;
      tenants.requireNewestKeys(tenant, record);
      const { changes } = replaceRow().run(
        record.key_hash,
        optionalUuidBytes(record.modified_by),
        record.modified_at ?? null,
        record.expires_at ?? null,
        record.revision,
        record.key_id,
        record.details,
        tenant,
        uuidKey(record.id),
        expectedRevision,
      );
      return changes > 0;
    },

    /** The ids of what was removed: its own and those of its children; undefined when it is not there at that revision. */
    remove(tenantId: string, id: string, expectedRevision: number): readonly string[] | undefined {
      const tenant = tenants.find(tenantId);
      const key = uuidKey(id);
      if (tenant === undefined || remove().run(tenant, key, expectedRevision).changes === 0) return undefined;
      return [id, ...removeChildren().all(tenant, key).map(uuidText)];
    },

    /** Removes at most `limit` expired ones, those that ended first before others, and their children. */
    removeExpired(now: Instant, limit: number): readonly DismissedApplications[] {
      const dismissed: DismissedApplications[] = [];
      for (const row of expired().all(now, limit)) {
        // Gone already when its creator was removed just before.
        if (removeRow().run(row.application).changes === 0) continue;
        const ids = [row.id, ...removeChildren().all(row.tenant, row.id)].map(uuidText);
        dismissed.push({ tenant_id: uuidText(row.tenant_id), ids });
      }
      return dismissed;
    },
  };
}

export function toApplicationRecord(row: ApplicationRow): ApplicationRecord {
  return {
    id: uuidText(row.id),
    tenant_id: uuidText(row.tenant_id),
    type: applicationType(row.type),
    key_hash: storedBytes(row.key_hash),
    parent_id: optionalUuidText(row.parent_id),
    created_by: optionalUuidText(row.created_by),
    created_at: storedNumber(row.created_at),
    modified_by: optionalUuidText(row.modified_by),
    modified_at: optionalNumber(row.modified_at),
    expires_at: optionalNumber(row.expires_at),
    revision: storedNumber(row.revision),
    key_id: storedNumber(row.key_id),
    details: storedBytes(row.details),
  };
}
