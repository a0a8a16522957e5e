import { REPLY_LIFE_MS } from '../../contract/limits.ts';
import type { DraftedReply } from '../../core/audit/ports.ts';
import type { Instant, Store } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import type { StoredReply } from '../../core/reply-ports.ts';
import { replyColumns } from '../rows/record-columns.ts';
import { storedNumber } from '../rows/stored-value.ts';
import type { Connections, Run } from './connections.ts';
import { firstValue, named } from './sql-client.ts';
import { blindText, uuid, uuidKey, uuidValue } from './uuid-text.ts';

export const REPLY = replyColumns(uuid);

export const REPLIES = named({
  /** Parameters: tenant id, application, key hash, the latest time of replies that are too old. */
  findReply: `SELECT ${REPLY.of('r')} FROM (SELECT tenant FROM vault.tenant WHERE id = $1 OFFSET 0) n,
      LATERAL (SELECT * FROM vault.reply WHERE tenant = n.tenant AND application_id = $2 AND key_hash = $3 OFFSET 0) r
      WHERE r.created_at > $4`,
});

const removing = (which: string) => `WITH old AS MATERIALIZED (SELECT reply FROM vault.reply WHERE ${which}),
  subjects AS (DELETE FROM vault.reply_subject s USING old WHERE s.reply = old.reply),
  removed AS (DELETE FROM vault.reply r USING old WHERE r.reply = old.reply RETURNING 1)
  SELECT count(*) FROM removed`;
const OF_TENANT = 'tenant = (SELECT tenant FROM vault.tenant WHERE id = $1)';
/** Keeps a reply that another process has just stored, so that the insertion fails. */
const REMOVE_BY_KEY = removing(`${OF_TENANT} AND application_id = $2 AND key_hash = $3 AND created_at <= $4`);
const REMOVE_BY_APPLICATION = removing(`${OF_TENANT} AND application_id = ANY ($2::uuid[])`);
const REMOVE_BY_AGE = removing('created_at <= $1 LIMIT $2');
const INSERT = `WITH made AS (INSERT INTO vault.reply (tenant, application_id, key_hash, request_hash, created_at, sealed)
    SELECT tenant, $2::uuid, $3::bytea, $4::bytea, $5::bigint, $6::bytea FROM vault.tenant WHERE id = $1 RETURNING reply),
  subjects AS (INSERT INTO vault.reply_subject (reply, blind)
    SELECT DISTINCT made.reply, blind FROM made, unnest($7::uuid[]) blind)
  SELECT count(*) FROM made`;

type Query = readonly [tenantId: string, applicationId: string, keyHash: Uint8Array, now: Instant];

async function find(run: Run, [tenantId, applicationId, keyHash, now]: Query): Promise<StoredReply | undefined> {
  const [row] = await run(REPLIES.findReply, [uuidKey(tenantId), uuidKey(applicationId), keyHash, now - REPLY_LIFE_MS]);
  return row && REPLY.readList(row, { tenant_id: tenantId });
}

/** Throws `write_conflict` if the key has a reply. Call it before a change that would fail when repeated. */
export async function requireFree(run: Run, { reply }: DraftedReply): Promise<void> {
  if (reply === undefined) return;
  const { tenant_id, application_id, key_hash, created_at } = reply;
  const found = await find(run, [tenant_id, application_id, key_hash, created_at]);
  if (found !== undefined) throw new Problem('write_conflict');
}

/** Stores the reply of a draft. Throws `write_conflict` if its key has one, `unauthenticated` without its tenant. */
export async function insertReply(run: Run, draft: DraftedReply): Promise<void> {
  const { reply, subjects, shows = [] } = draft;
  if (reply === undefined) return;
  await requireFree(run, draft);
  const tenant = uuidValue(reply.tenant_id);
  const blinds = [...subjects.map(({ blind }) => blind), ...shows].map(blindText);
  const [, [row]] = await Promise.all([
    run(REMOVE_BY_KEY, [tenant, reply.application_id, reply.key_hash, reply.created_at - REPLY_LIFE_MS]),
    run(INSERT, [tenant, ...REPLY.values(reply), blinds]),
  ]);
  if (row?.[0] !== 1) throw new Problem('unauthenticated');
}

export async function removeRepliesOf(run: Run, tenantId: string, applicationIds: readonly string[]): Promise<void> {
  await run(REMOVE_BY_APPLICATION, [uuidKey(tenantId), applicationIds.map(uuidValue)]);
}

export function replyMethods({ read, change }: Connections) {
  return {
    findReply: async (...query) => find(read, query),
    removeOldReplies: (now, limit) =>
      change(async ({ run }) => storedNumber(firstValue(await run(REMOVE_BY_AGE, [now - REPLY_LIFE_MS, limit])))),
  } satisfies Partial<Store>;
}
