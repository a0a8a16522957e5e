import type { EndedRecord } from '../../../core/audit/ports.ts';
import type { KeyIds } from '../../../core/ports.ts';
import { Problem } from '../../../core/problem.ts';
import { KEY_PURPOSE_CODES } from '../../rows/type-codes.ts';
import { type Connection, statements } from '../file/driver.ts';
import { uuidKey } from './uuid-bytes.ts';

/** A removed token, or the tombstone of an earlier one. */
export interface RemovedToken extends EndedRecord {
  readonly table: 'token' | 'tombstone';
}

/** The tables that hold tokens and their counters. */
const TABLES_OF_TOKENS = ['token_index', 'container_set', 'token', 'tombstone', 'counter'] as const;

/** All tables with a tenant's rows, children first. */
export const TABLES_OF_TENANT = [
  ...TABLES_OF_TOKENS,
  'reply',
  'application_key',
  'application',
  'tenant_key',
  'tenant',
] as const;

/** The functions for a tenant whose tokens change. All are synchronous; writes need a transaction. */
export type TenantRows = ReturnType<typeof tenantRows>;

export function tenantRows(connection: Connection) {
  const { rows, value } = statements(connection);
  const numberOf = value<[Buffer | null], number>('SELECT tenant FROM tenant WHERE id = +?');
  const tokenStates = rows<[number, number], RemovedToken>(
    `SELECT 'token' AS "table", id, revision FROM token WHERE tenant = +?
     UNION ALL SELECT 'tombstone', id, 1 FROM tombstone WHERE tenant = +?`,
  );
  const newestKey = value<[number, number], number | null>(
    'SELECT max(key_id) FROM tenant_key WHERE tenant = +? AND purpose = +?',
  );

  /** Returns the tenant's number inside the file, or undefined if the tenant does not exist. */
  function find(id: string): number | undefined {
    return numberOf().get(uuidKey(id));
  }

  return {
    find,

    /**
     * Throws `write_conflict` if the record does not use the tenant's newest keys. Older keys may be destroyed, and the
     * record with them.
     */
    requireNewestKeys(tenant: number, { key_id, index_key_id }: KeyIds): void {
      const current = newestKey().get(tenant, KEY_PURPOSE_CODES.data) === key_id;
      const found = newestKey().get(tenant, KEY_PURPOSE_CODES.index) === index_key_id;
      if (!current || !found) throw new Problem('write_conflict');
    },

    /**
     * Returns the tenant's number for a write. Throws `unauthenticated` if the tenant was removed, since its API keys
     * are then invalid.
     */
    need(id: string): number {
      const tenant = find(id);
      if (tenant === undefined) throw new Problem('unauthenticated');
      return tenant;
    },

    /** Removes all tokens of a tenant. Returns their number. */
    empty(tenant: number): number {
      const removed = TABLES_OF_TOKENS.map((table) => {
        const { changes } = connection.prepare<[number]>(`DELETE FROM ${table} WHERE tenant = +?`).run(tenant);
        return table === 'token' ? changes : 0;
      });
      return Math.max(...removed);
    },

    /** Yields the tokens and tombstones of a tenant. No row may change meanwhile. */
    *tokensOf(tenant: number): Generator<RemovedToken> {
      yield* tokenStates().iterate(tenant, tenant);
    },
  };
}
