import type { Instant, Store } from '../../core/ports.ts';
import { isStorableText } from '../rows/stored-value.ts';
import type { Connections } from './connections.ts';
import { PRESENTED_COLUMNS, TOKEN_COLUMNS, toPresentedToken, toTokenRecord } from './decode-token.ts';
import type { Statement } from './sql-client.ts';
import { blindText, uuidKey } from './uuid-text.ts';

/**
 * Returns the statement that finds a row of `token` by tenant and id alone. `OFFSET 0` hides the other conditions when
 * PostgreSQL chooses the index: a plan made while the table is empty would take any index that fits.
 */
function byId(name: string, columns: string): Statement {
  return {
    name,
    text: `SELECT ${columns} FROM vault.tenant n,
  LATERAL (SELECT * FROM vault.token WHERE tenant = n.tenant AND id = $2 OFFSET 0) t
WHERE n.id = $1 AND t.deleted_at IS NULL`,
  };
}

/**
 * Returns the query for the oldest live token of a tenant with a blind index, other than `except`. It reads the index
 * of each container set in order of time, and stops after the tokens that share the time of the first live one.
 */
export function oldestWith(of: {
  readonly tenant: string;
  readonly blind: string;
  readonly except: string;
  readonly now: string;
}): string {
  return `SELECT ${TOKEN_COLUMNS} FROM (SELECT 0::smallint UNION ALL
      SELECT number FROM vault.container_set WHERE tenant = ${of.tenant}) s (number),
    LATERAL (SELECT t.* FROM (SELECT token, created_at FROM vault.token_index
        WHERE tenant = ${of.tenant} AND blind = ${of.blind} AND set_number = s.number
        ORDER BY created_at, token OFFSET 0) i,
      LATERAL (SELECT * FROM vault.token WHERE token = i.token OFFSET 0) t
      WHERE t.tenant = ${of.tenant} AND t.deleted_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > ${of.now})
        AND t.id <> ${of.except}
      ORDER BY i.created_at, t.id LIMIT 1) t
  ORDER BY t.created_at, t.id LIMIT 1`;
}

/** The statements of this module, for the test of their plans. */
export const TOKEN_READS = {
  findToken: byId('findToken', TOKEN_COLUMNS),
  findPresentedToken: byId('findPresentedToken', PRESENTED_COLUMNS),
  findDuplicate: {
    name: 'findDuplicate',
    text: `SELECT d.* FROM vault.tenant n,
  LATERAL (${oldestWith({ tenant: 'n.tenant', blind: '$2', except: '$3', now: '$4' })}) d WHERE n.id = $1`,
  },
} as const satisfies Record<string, Statement>;

/** Returns the id for a lookup; null, which equals no id, if the store cannot hold it. */
export function idKey(id: string): string | null {
  return isStorableText(id) ? id : null;
}

function isExpired({ expires_at }: { readonly expires_at?: Instant | undefined }, now: Instant): boolean {
  return expires_at !== undefined && expires_at <= now;
}

/** Returns the reads of single tokens. */
export function tokenReads({ read }: Pick<Connections, 'read'>) {
  return {
    async findToken(tenantId, id, now) {
      const [row] = await read(TOKEN_READS.findToken, [uuidKey(tenantId), idKey(id)]);
      const record = row && toTokenRecord(tenantId, row);
      return record === undefined || isExpired(record, now) ? undefined : record;
    },

    async findPresentedToken(tenantId, id, now) {
      const [row] = await read(TOKEN_READS.findPresentedToken, [uuidKey(tenantId), idKey(id)]);
      const record = row && toPresentedToken(tenantId, row);
      return record === undefined || isExpired(record, now) ? undefined : record;
    },

    async findDuplicate(tenantId, fingerprint, exceptId, now) {
      const values = [uuidKey(tenantId), blindText(fingerprint), idKey(exceptId) ?? '', now];
      const [row] = await read(TOKEN_READS.findDuplicate, values);
      return row && toTokenRecord(tenantId, row);
    },
  } satisfies Partial<Store>;
}
