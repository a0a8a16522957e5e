import type { AuthorityScan } from '../../../core/audit/ports.ts';
import { type Connection, statements } from '../file/driver.ts';
import { uuidOfHex } from './uuid-bytes.ts';

/** A column of a damaged file may have any type. `length` counts the characters of a text. */
const isUuid = (column: string) => `typeof(${column}) = 'blob' AND length(${column}) = 16`;

/**
 * Selects all rows of a table as one text. Each row has its id, the id of its tenant, both in hexadecimal digits, and
 * its revision. Opening a vault reads all rows, and SQLite returns one text in half the time of a list. Omits rows with
 * a damaged id: the records of their tenant then differ from the audit.
 */
const everyRow = (table: 'application' | 'application_key') =>
  `SELECT group_concat(hex(a.id) || hex(t.id) || a.revision, ' ')
FROM ${table} a CROSS JOIN tenant t ON t.tenant = a.tenant
WHERE ${isUuid('a.id')} AND ${isUuid('t.id')} AND typeof(a.revision) = 'integer'`;

/** Returns the records in a text of `everyRow`. Decodes each record when it is read, so that few are in memory. */
function revisionsOf(text: string): AuthorityScan['keys'] {
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

/** Returns the function that reads the revisions of all records of authority. */
export function authorityScan(connection: Connection) {
  const { lists, value } = statements(connection);
  const tenants = lists<[], readonly [id: string, revision: number, tenant: number]>(
    `SELECT hex(id), revision, tenant FROM tenant WHERE ${isUuid('id')} ORDER BY created_at, id`,
  );
  const keysOf = value<[number], number>('SELECT key_id FROM tenant_key WHERE tenant = +? ORDER BY key_id');
  const applications = value<[], string | null>(everyRow('application'));
  const keys = value<[], string | null>(everyRow('application_key'));

  return () => ({
    tenants: tenants()
      .all()
      .map(([id, revision, tenant]) => ({ id: uuidOfHex(id), revision, keys: keysOf().all(tenant) })),
    applications: revisionsOf(applications().get() ?? ''),
    keys: revisionsOf(keys().get() ?? ''),
  });
}
