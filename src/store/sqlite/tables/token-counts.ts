import type { TokenType } from '../../../contract/token-types.ts';
import type { Instant, TenantUsage } from '../../../core/ports.ts';
import { type Connection, statements } from '../file/driver.ts';
import { isStorableText, storedInstant, TOKEN_TYPE_CODES, tokenType } from './columns.ts';
import type { TenantRows } from './tenant-rows.ts';

interface CountRow {
  readonly type: number;
  readonly live: number;
  readonly last_created_at: number;
}

/** The counters: how many tokens of each type there are, and how many were active in each month. Synchronous. */
export type TokenCounts = ReturnType<typeof tokenCounts>;

export function tokenCounts(connection: Connection, tenants: TenantRows) {
  const { rows, value } = statements(connection);
  const created = rows<[number, number, number]>(
    `INSERT INTO token_count (tenant, type, live, last_created_at) VALUES (?, ?, 1, ?)
       ON CONFLICT (tenant, type) DO UPDATE
       SET live = live + 1, last_created_at = max(last_created_at, excluded.last_created_at)`,
  );
  const removed = rows<[number, number]>('UPDATE token_count SET live = live - 1 WHERE tenant = +? AND type = +?');
  const active = rows<[number, number, number]>(
    `INSERT INTO active_count (tenant, month, tokens) VALUES (?, ?, ?)
       ON CONFLICT (tenant, month) DO UPDATE SET tokens = tokens + excluded.tokens`,
  );
  const markToken = rows<[number, number, string, number]>(
    'UPDATE token SET active_month = ? WHERE tenant = +? AND id = +? AND active_month < ?',
  );
  const counts = rows<[number], CountRow>('SELECT type, live, last_created_at FROM token_count WHERE tenant = +?');
  const expired = rows<[number, number], { readonly type: number; readonly tokens: number }>(
    `SELECT type, count(*) AS tokens FROM token INDEXED BY token_expiry
       WHERE expires_at <= ? AND tenant = +? GROUP BY type`,
  );
  const activeIn = value<[number, number], number>('SELECT tokens FROM active_count WHERE tenant = +? AND month = +?');

  return {
    created(tenant: number, type: TokenType, createdAt: Instant, month: number): void {
      created().run(tenant, TOKEN_TYPE_CODES[type], createdAt);
      active().run(tenant, month, 1);
    },

    removed(tenant: number, type: TokenType): void {
      removed().run(tenant, TOKEN_TYPE_CODES[type]);
    },

    /** Counts each token once in a month, by the month that its row remembers. */
    markActive(tenantId: string, ids: readonly string[], month: number): void {
      const tenant = tenants.find(tenantId);
      if (tenant === undefined) return;
      let marked = 0;
      for (const id of ids) if (isStorableText(id)) marked += markToken().run(month, tenant, id, month).changes;
      if (marked > 0) active().run(tenant, month, marked);
    },

    usage(tenantId: string, month: number, now: Instant): TenantUsage {
      const tenant = tenants.find(tenantId);
      if (tenant === undefined) return { types: [], active: 0 };
      const gone = new Map(
        expired()
          .all(now, tenant)
          .map((row) => [row.type, row.tokens]),
      );
      const types = counts()
        .all(tenant)
        .map((row) => ({
          type: tokenType.read(row.type),
          count: row.live - (gone.get(row.type) ?? 0),
          last_created_at: storedInstant(row.last_created_at),
        }));
      return { types, active: activeIn().get(tenant, month) ?? 0 };
    },
  };
}
