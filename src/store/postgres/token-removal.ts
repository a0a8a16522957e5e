import type { AuditDraft } from '../../core/audit/ports.ts';
import type { ExpiryRecorder, Instant, Store } from '../../core/ports.ts';
import { storedNumber } from '../rows/stored-value.ts';
import { removeChildren } from './application-rows.ts';
import type { Connections, Run, Transaction } from './connections.ts';
import { TOKEN_COLUMNS, toTokenRecord } from './decode-token.ts';
import type { Statement } from './sql-client.ts';
import { TOKEN_CHANGES } from './token-statements.ts';
import { NO_PLACE } from './token-writes.ts';
import { storedUuid, uuidKey, uuidValue } from './uuid-text.ts';

/** The maximum number of expired records that one transaction removes. */
const SWEEP_BATCH = 100;

/** The number of rows that one statement removes when all tokens of a tenant are removed. */
const EMPTY_BATCH = 5000;

/** Parameters: now, limit. Selects the earliest expiry first. Skips tokens that another process has locked. */
const EXPIRED_TOKENS: Statement = {
  text: `SELECT n.id, ${TOKEN_COLUMNS} FROM vault.token t JOIN vault.tenant n ON n.tenant = t.tenant
WHERE t.expires_at <= $1 AND t.expires_at IS NOT NULL AND t.deleted_at IS NULL
ORDER BY t.expires_at LIMIT $2 FOR UPDATE OF t SKIP LOCKED`,
};
/** Parameters: now, limit. Earliest expiry first. */
const EXPIRED_APPLICATIONS: Statement = {
  text: `SELECT n.tenant, n.id, a.id FROM vault.application a JOIN vault.tenant n ON n.tenant = a.tenant
WHERE a.expires_at <= $1 AND a.expires_at IS NOT NULL ORDER BY a.expires_at LIMIT $2`,
};
const REMOVE_APPLICATION: Statement = {
  text: 'DELETE FROM vault.application WHERE tenant = $1 AND id = $2 RETURNING 1',
};

const FIND_TENANT: Statement = { text: 'SELECT tenant FROM vault.tenant WHERE id = $1' };
/** Parameters: tenant, limit. Returns the number of removed rows, and the number of live tokens among them. */
const EMPTY_TOKENS: Statement = {
  text: `WITH gone AS (DELETE FROM vault.token WHERE token = ANY (ARRAY(
  SELECT token FROM vault.token WHERE tenant = $1 ORDER BY id LIMIT $2)) RETURNING deleted_at)
SELECT count(*), count(*) FILTER (WHERE deleted_at IS NULL) FROM gone`,
};
const EMPTY_INDEX: Statement = {
  text: `WITH stale AS MATERIALIZED (SELECT * FROM vault.token_index WHERE tenant = $1
  ORDER BY blind, created_at, token LIMIT $2),
gone AS (DELETE FROM vault.token_index i USING stale WHERE i.tenant = stale.tenant AND i.blind = stale.blind
  AND i.created_at = stale.created_at AND i.token = stale.token RETURNING 1)
SELECT count(*), 0 FROM gone`,
};
const EMPTY_COUNTS: Statement = { text: 'DELETE FROM vault.token_count WHERE tenant = $1' };
const EMPTY_REPLIES: Statement = { text: "UPDATE vault.reply SET sealed = '' WHERE tenant = $1" };

/** Removes expired tokens. Resolves to an audit entry for each. */
async function removeTokens(
  run: Run,
  now: Instant,
  limit: number,
  recorder: ExpiryRecorder,
): Promise<readonly AuditDraft[]> {
  const expired = await run(EXPIRED_TOKENS, [now, limit]);
  return Promise.all(
    expired.map(async ([tenantId, ...columns]) => {
      const token = toTokenRecord(storedUuid(tenantId), columns);
      const { tombstone, audit } = recorder.recordExpiry(token, now);
      const [row] = await run(TOKEN_CHANGES.remove, [
        ...NO_PLACE,
        token.tenant_id,
        token.id,
        token.revision,
        uuidValue(tombstone.created_by),
        null,
        tombstone.deleted_at,
        tombstone.mac,
      ]);
      if (row?.[1] !== 1) throw new Error('unreachable: the row was locked in this transaction');
      return audit;
    }),
  );
}

/** Removes expired applications and their children. Resolves to the number of expired ones. */
async function removeApplications(
  transaction: Transaction,
  now: Instant,
  limit: number,
  recorder: ExpiryRecorder,
): Promise<number> {
  const { run } = transaction;
  let removed = 0;
  for (const row of await run(EXPIRED_APPLICATIONS, [now, limit])) {
    const [tenant, tenantId, id] = [storedNumber(row[0]), storedUuid(row[1]), storedUuid(row[2])];
    // An earlier turn of this loop may have removed the row as a child of its application.
    if ((await run(REMOVE_APPLICATION, [tenant, id])).length === 0) continue;
    const ids = [id, ...(await removeChildren(run, tenant, id))];
    await transaction.recordRemoval(recorder.recordRemoval(tenantId, ids));
    await transaction.removeRepliesOf(tenantId, ids);
    removed += 1;
  }
  if (removed > 0) await transaction.touchAuthority();
  return removed;
}

/** Removes all rows of a tenant from a table, in batches. Resolves to the number of live tokens among them. */
async function removeAll(run: Run, statement: Statement, tenant: number): Promise<number> {
  let live = 0;
  for (;;) {
    const [row] = await run(statement, [tenant, EMPTY_BATCH]);
    live += storedNumber(row?.[1]);
    if (storedNumber(row?.[0]) < EMPTY_BATCH) return live;
  }
}

/** Returns the functions that remove expired records, and all tokens. */
export function tokenRemoval({
  change,
}: Pick<Connections, 'change'>): Pick<Store, 'removeExpired' | 'removeAllTokens'> {
  function sweep(now: Instant, limit: number, recorder: ExpiryRecorder): Promise<number> {
    return change(async (transaction) => {
      const removed = await removeTokens(transaction.run, now, limit, recorder);
      await Promise.all(removed.map((audit) => transaction.recordRemoval(audit)));
      const applications = await removeApplications(transaction, now, limit - removed.length, recorder);
      return removed.length + applications;
    });
  }

  return {
    async removeExpired(now, limit, expiryRecorder) {
      let removed = 0;
      while (removed < limit) {
        const batch = Math.min(SWEEP_BATCH, limit - removed);
        const count = await sweep(now, batch, expiryRecorder);
        removed += count;
        if (count < batch) break;
      }
      return removed;
    },

    removeAllTokens: (tenantIds, audit) =>
      change(async (transaction) => {
        const { run } = transaction;
        let removed = 0;
        for (const id of tenantIds) {
          const [row] = await run(FIND_TENANT, [uuidKey(id)]);
          if (row === undefined) continue;
          const tenant = storedNumber(row[0]);
          await removeAll(run, EMPTY_INDEX, tenant);
          removed += await removeAll(run, EMPTY_TOKENS, tenant);
          await Promise.all([run(EMPTY_COUNTS, [tenant]), run(EMPTY_REPLIES, [tenant])]);
          await transaction.append(audit(id));
        }
        return removed;
      }),
  };
}
