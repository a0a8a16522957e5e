import { REPLY_LIFE_MS } from '../../contract/limits.ts';
import type { DraftedReply } from '../../core/audit/ports.ts';
import type { Instant, Store } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import type { StoredReply } from '../../core/reply-ports.ts';
import type { Dialect, SharedParts } from './dialect.ts';
import { raw, sql } from './fragment.ts';
import { askRows, askWhether, type SharedStatement, type StoreSteps } from './store-steps.ts';
import { storedText } from './stored-value.ts';
import { findTenantNumber, numberOfTenant, requireNewestKey } from './tenant-number.ts';

type ReplyKey = Pick<StoredReply, 'tenant_id' | 'application_id' | 'key_hash'>;

function selectReply(dialect: Dialect, key: ReplyKey, now: Instant): SharedStatement {
  const { tables, uuidKey, lookup } = dialect;
  const isReply = sql`r.tenant = n.tenant AND r.application_id = ${uuidKey(key.application_id)} AND r.key_hash = ${key.key_hash}`;
  const found = sql`SELECT ${raw(tables.reply.of('r'))} FROM ${numberOfTenant(dialect, key.tenant_id)} n
    ${lookup('reply', 'r', isReply)} WHERE r.created_at > ${now - REPLY_LIFE_MS}`;
  return { name: 'findReply', ...found };
}

/** Throws `write_conflict` if the key has a reply. Call it before a change that would fail when repeated. */
export function* requireFree(dialect: Dialect, { reply }: DraftedReply): StoreSteps<void> {
  if (reply === undefined) return;
  if (yield* askWhether(selectReply(dialect, reply, reply.created_at))) throw new Problem('write_conflict');
}

/**
 * Stores a reply in the transaction of its change. Throws `write_conflict` if its key has one or if it is under an older
 * data key, `unauthenticated` without its tenant.
 */
export function* insertReply(dialect: Dialect, reply: StoredReply): StoreSteps<void> {
  const { tables, uuidKey } = dialect;
  const [tenant, found = []] = yield* findTenantNumber(
    dialect,
    reply.tenant_id,
    selectReply(dialect, reply, reply.created_at),
    // A reply that is too old.
    sql`DELETE FROM vault.reply WHERE tenant = ${numberOfTenant(dialect, reply.tenant_id)}
      AND application_id = ${uuidKey(reply.application_id)} AND key_hash = ${reply.key_hash}`,
  );
  if (found.length > 0) throw new Problem('write_conflict');
  if (tenant === undefined) throw new Problem('unauthenticated');
  requireNewestKey(tenant, reply);
  yield [
    { sql: tables.reply.insertInto('vault.reply', 'tenant'), params: [...tables.reply.values(reply), tenant.tenant] },
  ];
}

/** Removes the replies that were stored for calls of removed applications. */
export function removeRepliesOf({ among }: Dialect, tenant: number, applicationIds: readonly string[]) {
  return sql`DELETE FROM vault.reply WHERE tenant = ${tenant} AND ${among('application_id', 'uuid', applicationIds)}`;
}

export function replyMethods({ dialect, read, change }: SharedParts) {
  const { tables, uuidKey } = dialect;
  return {
    findReply: (tenant_id, application_id, key_hash, now) =>
      read(function* () {
        const [row] = yield* askRows(selectReply(dialect, { tenant_id, application_id, key_hash }, now));
        return row && tables.reply.read(row, { tenant_id });
      }),

    resealReplies: (tenantId, changes) =>
      change('removed', function* () {
        const [found] = yield* findTenantNumber(dialect, tenantId);
        const resealed = yield changes.map(
          ({ before, after }) => sql`UPDATE vault.reply SET key_id = ${after.key_id}, sealed = ${after.sealed}
            WHERE tenant = ${found?.tenant} AND application_id = ${uuidKey(before.application_id)}
              AND key_hash = ${before.key_hash} AND key_id = ${before.key_id} RETURNING 1`,
        );
        return resealed.flat().length;
      }),

    removeOldReplies: (now, limit) =>
      change('removed', function* () {
        const latest = now - REPLY_LIFE_MS;
        // As text, because an edit may have left a number that JavaScript cannot hold.
        const old = yield* askRows(sql`SELECT CAST(reply AS text) FROM vault.reply
          WHERE created_at <= ${latest} LIMIT ${limit}`);
        const numbers = old.map(([reply]) => storedText(reply));
        yield [sql`DELETE FROM vault.reply WHERE ${dialect.among('reply', 'bigint', numbers)}`];
        return numbers.length;
      }),
  } satisfies Partial<Store>;
}
