import { REPLY_LIFE_MS } from '../../contract/limits.ts';
import type { DraftedReply } from '../../core/audit/ports.ts';
import type { Instant, Store } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import type { ResealedReply, StoredReply } from '../../core/reply-ports.ts';
import { replyColumns } from '../rows/record-columns.ts';
import { storedNumber } from '../rows/stored-value.ts';
import type { Connections, Run } from './connections.ts';
import { firstValue, named } from './sql-client.ts';
import { uuid, uuidKey, uuidValue } from './uuid-text.ts';

export const REPLY_ROW = replyColumns(uuid);

export const REPLIES = named({
  /** Parameters: tenant id, application, key hash, the latest time of replies that are too old. */
  findReply: `SELECT ${REPLY_ROW.of('r')} FROM (SELECT tenant FROM vault.tenant WHERE id = $1 OFFSET 0) n,
      LATERAL (SELECT * FROM vault.reply WHERE tenant = n.tenant AND application_id = $2 AND key_hash = $3 OFFSET 0) r
      WHERE r.created_at > $4`,
});

const OF_TENANT = 'tenant = (SELECT tenant FROM vault.tenant WHERE id = $1)';
/** Runs after `requireFree` in the same transaction, so the reply is too old. */
const REMOVE_BY_KEY = `DELETE FROM vault.reply
  WHERE ${OF_TENANT} AND application_id = $2 AND key_hash = $3`;
const REMOVE_BY_APPLICATION = `DELETE FROM vault.reply WHERE ${OF_TENANT} AND application_id = ANY ($2::uuid[])`;
const REMOVE_BY_AGE = `WITH removed AS (DELETE FROM vault.reply
    WHERE reply = ANY (ARRAY(SELECT reply FROM vault.reply WHERE created_at <= $1 LIMIT $2)) RETURNING 1)
  SELECT count(*) FROM removed`;
/** Inserts a reply only under the tenant's newest data key; returns whether it did. Returns no row without the tenant. */
const INSERT = `WITH n AS (SELECT tenant, data_key_id FROM vault.tenant WHERE id = $1),
  inserted AS (INSERT INTO vault.reply (tenant, application_id, key_hash, request_hash, created_at, key_id, sealed)
    SELECT tenant, $2::uuid, $3::bytea, $4::bytea, $5::bigint, $6::integer, $7::bytea FROM n WHERE data_key_id = $6
    RETURNING 1)
  SELECT EXISTS (SELECT 1 FROM inserted) FROM n`;
const RESEAL = `WITH resealed AS (UPDATE vault.reply r SET key_id = w.key_id, sealed = w.sealed
    FROM unnest($2::uuid[], $3::bytea[], $4::integer[], $5::integer[], $6::bytea[])
      w (application_id, key_hash, old_key_id, key_id, sealed)
    WHERE ${OF_TENANT} AND r.application_id = w.application_id AND r.key_hash = w.key_hash AND r.key_id = w.old_key_id
    RETURNING 1)
  SELECT count(*) FROM resealed`;

type Query = readonly [tenantId: string, applicationId: string, keyHash: Uint8Array, now: Instant];

async function find(run: Run, [tenantId, applicationId, keyHash, now]: Query): Promise<StoredReply | undefined> {
  const [row] = await run(REPLIES.findReply, [uuidKey(tenantId), uuidKey(applicationId), keyHash, now - REPLY_LIFE_MS]);
  return row && REPLY_ROW.readList(row, { tenant_id: tenantId });
}

/** Throws `write_conflict` if the key has a reply. Call it before a change that would fail when repeated. */
export async function requireFree(run: Run, { reply }: DraftedReply): Promise<void> {
  if (reply === undefined) return;
  const { tenant_id, application_id, key_hash, created_at } = reply;
  const found = await find(run, [tenant_id, application_id, key_hash, created_at]);
  if (found !== undefined) throw new Problem('write_conflict');
}

/**
 * Stores the reply of a draft. Throws `write_conflict` if its key has one or if it is under an older data key,
 * `unauthenticated` without its tenant.
 */
export async function insertReply(run: Run, draft: DraftedReply): Promise<void> {
  const { reply } = draft;
  if (reply === undefined) return;
  await requireFree(run, draft);
  const tenant = uuidValue(reply.tenant_id);
  const [, [row]] = await Promise.all([
    run(REMOVE_BY_KEY, [tenant, reply.application_id, reply.key_hash]),
    run(INSERT, [tenant, ...REPLY_ROW.values(reply)]),
  ]);
  if (row?.[0] !== true) throw new Problem(row === undefined ? 'unauthenticated' : 'write_conflict');
}

export async function removeRepliesOf(run: Run, tenantId: string, applicationIds: readonly string[]): Promise<void> {
  await run(REMOVE_BY_APPLICATION, [uuidKey(tenantId), applicationIds.map(uuidValue)]);
}

function toLists(changes: readonly ResealedReply[]) {
  return [
    changes.map(({ before }) => uuidValue(before.application_id)),
    changes.map(({ before }) => before.key_hash),
    changes.map(({ before }) => before.key_id),
    changes.map(({ after }) => after.key_id),
    changes.map(({ after }) => after.sealed),
  ];
}

export function replyMethods({ read, change }: Connections) {
  return {
    findReply: async (...query) => find(read, query),
    resealReplies: (tenantId, changes) =>
      change(async ({ run }) => storedNumber(firstValue(await run(RESEAL, [uuidKey(tenantId), ...toLists(changes)])))),
    removeOldReplies: (now, limit) =>
      change(async ({ run }) => storedNumber(firstValue(await run(REMOVE_BY_AGE, [now - REPLY_LIFE_MS, limit])))),
  } satisfies Partial<Store>;
}
