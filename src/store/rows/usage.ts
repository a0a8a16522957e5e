import type { Store } from '../../core/ports.ts';
import type { SharedParts } from './dialect.ts';
import { raw, sql } from './fragment.ts';
import { askAll } from './store-steps.ts';
import { storedCount, storedInstant, storedNumber } from './stored-value.ts';
import { numberOfTenant } from './tenant-number.ts';
import { storedTokenType } from './type-codes.ts';

export function usageMethods({ dialect, readSlow }: SharedParts) {
  const { counters, by, liveTokens } = dialect;
  return {
    usage: (tenantId, month, now) =>
      readSlow(function* () {
        const tenant = numberOfTenant(dialect, tenantId);
        const [counts = [], expired = []] = yield* askAll(
          sql`SELECT type, CAST(sum(live) AS bigint), max(last_created_at),
              CAST(coalesce(sum(active) FILTER (WHERE month = ${month}), 0) AS bigint)
            FROM ${raw(counters)} c WHERE tenant = ${tenant} GROUP BY type ORDER BY type`,
          sql`SELECT type, count(*) FROM ${raw(liveTokens[0])} t ${by('token_expiry')} WHERE ${raw(liveTokens[1])}
            AND expires_at <= ${now} AND expires_at IS NOT NULL AND tenant = ${tenant} GROUP BY type`,
        );
        const gone = new Map(expired.map(([type, tokens]) => [type, storedNumber(tokens)]));
        return {
          types: counts
            .filter(([type]) => type !== 0)
            .map(([type, tokens, last]) => ({
              type: storedTokenType(type),
              count: storedCount(storedNumber(tokens) - (gone.get(type) ?? 0)),
              last_created_at: storedInstant(last),
            })),
          active: storedCount(counts.reduce((sum, row) => sum + Number(row[3]), 0)),
        };
      }),
  } satisfies Partial<Store>;
}
