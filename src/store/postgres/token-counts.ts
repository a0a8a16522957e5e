import type { Store } from '../../core/ports.ts';
import { storedInstant, storedNumber } from '../rows/stored-value.ts';
import { storedTokenType } from '../rows/type-codes.ts';
import type { Connections } from './connections.ts';
import type { Statement } from './sql-client.ts';
import { uuidKey } from './uuid-text.ts';

const TYPES: Statement = {
  text: `SELECT type, sum(live)::bigint, max(last_created_at) FROM vault.token_count
WHERE tenant = (SELECT tenant FROM vault.tenant WHERE id = $1) GROUP BY type ORDER BY type`,
};
const EXPIRED: Statement = {
  text: `SELECT type, count(*) FROM vault.token WHERE expires_at <= $2 AND expires_at IS NOT NULL
  AND tenant = (SELECT tenant FROM vault.tenant WHERE id = $1) AND deleted_at IS NULL GROUP BY type`,
};
const ACTIVE: Statement = {
  text: `SELECT coalesce(sum(active), 0)::bigint FROM vault.token_count
WHERE tenant = (SELECT tenant FROM vault.tenant WHERE id = $1) AND month = $2`,
};

/** Returns the reads of the counters. */
export function tokenCounts({ readSnapshot }: Connections) {
  return {
    usage: (tenantId, month, now) =>
      readSnapshot(async (run) => {
        const tenant = uuidKey(tenantId);
        const [counts, expired, [active]] = await Promise.all([
          run(TYPES, [tenant]),
          run(EXPIRED, [tenant, now]),
          run(ACTIVE, [tenant, month]),
        ]);
        const gone = new Map(expired.map(([type, tokens]) => [type, storedNumber(tokens)]));
        const types = counts.map(([type, live, last]) => ({
          type: storedTokenType(type),
          count: storedNumber(live) - (gone.get(type) ?? 0),
          last_created_at: storedInstant(last),
        }));
        return { types, active: storedNumber(active?.[0]) };
      }),
  } satisfies Partial<Store>;
}
