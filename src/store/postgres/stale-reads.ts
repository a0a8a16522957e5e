import type { Store, TokenRecord } from '../../core/ports.ts';
import { storedNumber, storedText } from '../rows/stored-value.ts';
import { APPLICATION, toApplicationRecord } from './application-rows.ts';
import type { Connections } from './connections.ts';
import { idKey, TOKEN_COLUMNS, toTokenRecord } from './token-reads.ts';
import { uuidKey } from './uuid-text.ts';

/** The maximum number of sealed bytes in a batch of tokens. A batch is read, opened, sealed and written as a whole. */
const BATCH_BYTES = 1024 * 1024;

/** The number of rows, tombstones included, that one step of the walk examines. */
const WALKED_AT_ONCE = 500;

/** Key ids only grow, so a row under an older key has a lower key id. */
const COUNT = `SELECT (SELECT coalesce(sum(live), 0) FROM vault.token_count
    WHERE tenant = n.tenant AND (key_id < $2 OR index_key_id < $3))::bigint
  + (SELECT count(*) FROM vault.application WHERE tenant = n.tenant AND key_id < $2) + (n.key_id < $2)::integer
FROM vault.tenant n WHERE n.id = $1`;
const WALK = `SELECT id, deleted_at IS NULL AND (key_id < $2 OR index_key_id < $3),
  coalesce(octet_length(presented) + octet_length(revealed), 0) FROM vault.token
WHERE tenant = (SELECT tenant FROM vault.tenant WHERE id = $1) AND id > $4 ORDER BY id LIMIT ${WALKED_AT_ONCE}`;
const TOKENS = `SELECT ${TOKEN_COLUMNS} FROM unnest($2::text[]) WITH ORDINALITY w (id, place),
  LATERAL (SELECT * FROM vault.token WHERE tenant = (SELECT tenant FROM vault.tenant WHERE id = $1)
    AND vault.token.id = w.id OFFSET 0) t WHERE t.deleted_at IS NULL ORDER BY w.place`;
const APPLICATIONS = `SELECT ${APPLICATION.of('a')} FROM vault.application a
WHERE a.tenant = (SELECT tenant FROM vault.tenant WHERE id = $1) AND a.key_id < $2 LIMIT $3`;

/** Returns the reads of records under older keys. */
export function staleReads({ readSlow, readSnapshot }: Pick<Connections, 'readSlow' | 'readSnapshot'>) {
  return {
    async countStale(tenantId, { key_id, index_key_id }) {
      const [row] = await readSlow(COUNT, [uuidKey(tenantId), key_id, index_key_id]);
      return row === undefined ? 0 : storedNumber(row[0]);
    },

    findStaleTokens: (tenantId, { key_id, index_key_id }, after, limit) =>
      readSnapshot(async (run) => {
        const tenant = uuidKey(tenantId);
        const walked = await run(WALK, [tenant, key_id, index_key_id, idKey(after)]);
        const ids: string[] = [];
        let [bytes, next] = [0, walked.length < WALKED_AT_ONCE ? undefined : storedText(walked.at(-1)?.[0])];
        for (const [id, isStale, length] of walked) {
          if (isStale !== true) continue;
          ids.push(storedText(id));
          bytes += storedNumber(length);
          if (ids.length < limit && bytes <= BATCH_BYTES) continue;
          next = ids.at(-1);
          break;
        }
        const rows = ids.length === 0 ? [] : await run(TOKENS, [tenant, ids]);
        const tokens: readonly TokenRecord[] = rows.map((row) => toTokenRecord(tenantId, row));
        return { tokens, next };
      }),

    async findStaleApplications(tenantId, { key_id }, limit) {
      const rows = await readSlow(APPLICATIONS, [uuidKey(tenantId), key_id, limit]);
      return rows.map((row) => toApplicationRecord(tenantId, row));
    },
  } satisfies Partial<Store>;
}
