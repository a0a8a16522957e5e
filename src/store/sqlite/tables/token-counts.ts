import type { KeyIds, TokenRecord } from '../../../core/ports.ts';
import { isStorableText } from '../../rows/stored-value.ts';
import { TOKEN_TYPE_CODES } from '../../rows/type-codes.ts';
import { type Connection, statements } from '../file/driver.ts';
import type { TenantRows } from './tenant-rows.ts';

/** The members of a token that select its counter. */
type Counted = Pick<TokenRecord, 'type' | 'created_at' | keyof KeyIds>;

/**
 * The functions for the token counters: tokens of each type and key, and active tokens of each month. All are
 * synchronous.
 */
export type TokenCounts = ReturnType<typeof tokenCounts>;

export function tokenCounts(connection: Connection, tenants: TenantRows) {
  const { rows } = statements(connection);
  const added = rows<[number, number, number, number, number, number]>(
    `INSERT INTO counter (tenant, type, month, key_id, index_key_id, count, at) VALUES (?, ?, 0, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET count = count + excluded.count, at = max(at, excluded.at)`,
  );
  const removed = rows<[number, number, number, number]>(
    `UPDATE counter SET count = count - 1
       WHERE tenant = +? AND type = +? AND month = 0 AND key_id = +? AND index_key_id = +?`,
  );
  const active = rows<[number, number, number]>(
    `INSERT INTO counter (tenant, type, month, key_id, index_key_id, count, at) VALUES (?, 0, ?, 0, 0, ?, 0)
       ON CONFLICT DO UPDATE SET count = count + excluded.count`,
  );
  const markToken = rows<[number, number, string, number]>(
    'UPDATE token SET active_month = ? WHERE tenant = +? AND id = +? AND active_month < ?',
  );

  function add(tenant: number, { type, key_id, index_key_id, created_at }: Counted, count = 1): void {
    added().run(tenant, TOKEN_TYPE_CODES[type], key_id, index_key_id, count, created_at);
  }

  function remove(tenant: number, { type, key_id, index_key_id }: Counted): void {
    removed().run(tenant, TOKEN_TYPE_CODES[type], key_id, index_key_id);
  }

  return {
    created(tenant: number, records: readonly TokenRecord[]): void {
      for (const group of Map.groupBy(records, countedBy).values()) {
        const created_at = Math.max(...group.map((record) => record.created_at));
        const [one] = group;
        if (one !== undefined) add(tenant, { ...one, created_at }, group.length);
      }
      for (const [month, { length }] of Map.groupBy(records, monthOf)) active().run(tenant, month, length);
    },

    removed: remove,

    /** Moves a token from the counter of its old keys to that of its new keys. */
    replaced(tenant: number, before: Counted, after: Counted): void {
      if (before.key_id === after.key_id && before.index_key_id === after.index_key_id) return;
      remove(tenant, before);
      add(tenant, after);
    },

    /** Counts tokens as active in a month. The month in a token's row ensures that it is counted once. */
    markActive(tenantId: string, ids: readonly string[], month: number): void {
      const tenant = tenants.find(tenantId);
      if (tenant === undefined) return;
      let marked = 0;
      for (const id of ids) if (isStorableText(id)) marked += markToken().run(month, tenant, id, month).changes;
      if (marked > 0) active().run(tenant, month, marked);
    },
  };
}

const countedBy = ({ type, key_id, index_key_id }: TokenRecord): string => `${type} ${key_id} ${index_key_id}`;
const monthOf = ({ active_month }: TokenRecord): number => active_month;
