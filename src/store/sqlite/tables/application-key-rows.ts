import type { ApplicationKeyRecord, Removal } from '../../../core/application-ports.ts';
import type { AuthorityScan, EndedRecord } from '../../../core/audit/ports.ts';
import type { Instant } from '../../../core/ports.ts';
import { Problem } from '../../../core/problem.ts';
import type { StoredRow } from '../../rows/columns.ts';
import { type ApplicationKeyColumns, applicationKeyColumns } from '../../rows/record-columns.ts';
import { readable } from '../../rows/stored-value.ts';
import { type Connection, statements } from '../file/driver.ts';
import type { TenantRows } from './tenant-rows.ts';
import { uuid, uuidKey, uuidOfHex, uuidText } from './uuid-bytes.ts';

const APPLICATION_KEY_ROW = applicationKeyColumns(uuid);

export interface ApplicationKeyRow extends StoredRow<ApplicationKeyColumns> {
  readonly tenant: number;
  readonly tenant_id: Buffer;
}

/** A column of a damaged file may have any type. `length` counts the characters of a text. */
const isUuid = (column: string) => `typeof(${column}) = 'blob' AND length(${column}) = 16`;

/**
 * Selects all rows of a table as one text. Each row has its id, the id of its tenant, both in hexadecimal digits, and
 * its revision. Opening a vault reads all rows, and SQLite returns one text in half the time of a list. Omits rows with
 * a damaged id: the records of their tenant then differ from the audit.
 */
export const everyRow = (table: 'application' | 'application_key') =>
  `SELECT group_concat(hex(a.id) || hex(t.id) || a.revision, ' ')
FROM ${table} a CROSS JOIN tenant t ON t.tenant = a.tenant
WHERE ${isUuid('a.id')} AND ${isUuid('t.id')} AND typeof(a.revision) = 'integer'`;

/** Returns the records in a text of `everyRow`. Decodes each record when it is read, so that few are in memory. */
export function revisionsOf(text: string): AuthorityScan['keys'] {
  return {
    *[Symbol.iterator]() {
      const tenants = new Map<string, string>();
      for (let [at, end] = [0, -1]; at < text.length; at = end + 1) {
        end = text.indexOf(' ', at + 64);
        if (end < 0) end = text.length;
        const tenant = text.slice(at + 32, at + 64);
        const tenant_id = tenants.get(tenant) ?? uuidOfHex(tenant);
        tenants.set(tenant, tenant_id);
        yield { tenant_id, id: uuidOfHex(text, at), revision: Number(text.slice(at + 64, end)) };
      }
    },
  };
}

export const SELECT_APPLICATION_KEY = `SELECT k.tenant, t.id AS tenant_id, ${APPLICATION_KEY_ROW.of('k')}
FROM application_key k CROSS JOIN tenant t ON t.tenant = k.tenant`;
const LIVE = '(k.expires_at IS NULL OR k.expires_at > ?)';

export function toApplicationKeyRecord(row: ApplicationKeyRow): ApplicationKeyRecord {
  return APPLICATION_KEY_ROW.read(row, { tenant_id: uuidText(row.tenant_id) });
}

/** The functions for the table `application_key`. All are synchronous; writes need a transaction. */
export type ApplicationKeyRows = ReturnType<typeof applicationKeyRows>;

export function applicationKeyRows(connection: Connection, tenants: TenantRows) {
  const { rows, value } = statements(connection);
  const byHash = rows<[Uint8Array, number], ApplicationKeyRow>(
    `${SELECT_APPLICATION_KEY} WHERE k.hash = +? AND ${LIVE}`,
  );
  const ofApplication = rows<[number, Buffer | null, number], ApplicationKeyRow>(
    `${SELECT_APPLICATION_KEY} WHERE k.tenant = +? AND k.application_id = +? AND ${LIVE} ORDER BY k.version DESC`,
  );
  const byId = rows<[number, Buffer | null], ApplicationKeyRow>(
    `${SELECT_APPLICATION_KEY} WHERE k.tenant = +? AND k.id = +?`,
  );
  const exists = value<[number, Buffer | null, Buffer | null], number>(
    'SELECT 1 FROM application_key WHERE tenant = +? AND id = +? AND application_id = +?',
  );
  const countLive = value<[number, Buffer | null, number], number>(
    `SELECT count(*) FROM application_key k WHERE k.tenant = +? AND k.application_id = +? AND ${LIVE}`,
  );
  const insertRow = rows<unknown[]>(APPLICATION_KEY_ROW.insertInto('application_key', 'tenant'));
  const nextVersion = rows<[number, number, Buffer | null, number]>(
    'UPDATE application SET key_version = ? WHERE tenant = +? AND id = +? AND key_version = +? - 1',
  );
  const removeRow = rows<[number, Buffer | null, Buffer | null], { readonly revision: number }>(
    'DELETE FROM application_key WHERE tenant = +? AND id = +? AND application_id = +? RETURNING revision',
  );
  const everyOf = rows<[number, Buffer | null], ApplicationKeyRow>(
    `${SELECT_APPLICATION_KEY} WHERE k.tenant = +? AND k.application_id = +?`,
  );
  const mark = rows<[number, number, Buffer | null, number]>(
    'UPDATE application_key SET last_used_day = ? WHERE tenant = +? AND id = +? AND last_used_day < ?',
  );
  const resealRow = rows<unknown[]>(
    `UPDATE application_key SET ${APPLICATION_KEY_ROW.assigned()} WHERE tenant = +? AND id = +?`,
  );

  const everyRevision = value<[], string | null>(everyRow('application_key'));

  function remove(tenant: number, applicationId: string, id: string): EndedRecord | undefined {
    const row = removeRow().get(tenant, uuidKey(id), uuidKey(applicationId));
    return row && { id, revision: row.revision };
  }

  return {
    /** Returns the revision of each key. */
    revisions: () => revisionsOf(everyRevision().get() ?? ''),

    findByHash(hash: Uint8Array, now: Instant): { record: ApplicationKeyRecord; tenant: number } | undefined {
      const row = byHash().get(hash, now);
      return row && { record: toApplicationKeyRecord(row), tenant: row.tenant };
    },

    find(tenantId: string, id: string): ApplicationKeyRecord | undefined {
      const tenant = tenants.find(tenantId);
      const row = tenant === undefined ? undefined : byId().get(tenant, uuidKey(id));
      return row && toApplicationKeyRecord(row);
    },

    list(tenantId: string, applicationId: string, now: Instant): readonly ApplicationKeyRecord[] {
      const tenant = tenants.find(tenantId);
      const found = tenant === undefined ? [] : ofApplication().all(tenant, uuidKey(applicationId), now);
      return found.map(toApplicationKeyRecord);
    },

    has(tenant: number, applicationId: string, id: string | undefined): boolean {
      return exists().get(tenant, uuidKey(id ?? ''), uuidKey(applicationId)) === 1;
    },

    /**
     * Inserts a key. Returns false unless the application has made as many keys as the version of this key requires.
     */
    insert(record: ApplicationKeyRecord): boolean {
      const tenant = tenants.find(record.tenant_id);
      if (tenant === undefined) return false;
      tenants.requireNewestKeys(tenant, record);
      const { version } = record;
      if (nextVersion().run(version, tenant, uuidKey(record.application_id), version).changes === 0) return false;
      insertRow().run(...APPLICATION_KEY_ROW.values(record), tenant);
      return true;
    },

    /** Throws `too_many_keys` if the application has `most` live keys. */
    requireQuota({ tenant_id, application_id }: ApplicationKeyRecord, most: number, now: Instant): void {
      const tenant = tenants.find(tenant_id);
      const live = tenant === undefined ? 0 : (countLive().get(tenant, uuidKey(application_id), now) ?? 0);
      if (live >= most) throw new Problem('too_many_keys');
    },

    remove,

    /** Removes the genuine keys of applications, except the key `kept`, and returns them. */
    removeOf(
      tenant: number,
      applicationIds: readonly string[],
      isGenuine: Removal['isGenuine'],
      kept?: string,
    ): readonly EndedRecord[] {
      return applicationIds.flatMap((of) => {
        const ended = readable(everyOf().all(tenant, uuidKey(of)), toApplicationKeyRecord).filter(
          (record) => record.id !== kept && isGenuine(record),
        );
        return ended.map((record) => remove(tenant, of, record.id)).filter((record) => record !== undefined);
      });
    },

    markUsed(tenantId: string, ids: readonly string[], day: number): void {
      const tenant = tenants.find(tenantId);
      if (tenant !== undefined) for (const id of ids) mark().run(day, tenant, uuidKey(id), day);
    },

    /** Returns the number of resealed keys. */
    reseal(tenantId: string, resealed: readonly ApplicationKeyRecord[]): number {
      const tenant = tenants.find(tenantId);
      if (tenant === undefined) return 0;
      const replaced = resealed.filter((record) => {
        tenants.requireNewestKeys(tenant, record);
        return resealRow().run(...APPLICATION_KEY_ROW.changes(record), tenant, uuidKey(record.id)).changes === 1;
      });
      return replaced.length;
    },
  };
}
