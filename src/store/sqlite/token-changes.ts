import type { AuditDraft } from '../../core/audit-ports.ts';
import type { ResealedToken } from '../../core/maintenance-ports.ts';
import type {
  InsertTokenOutcome,
  Instant,
  TokenIndexes,
  TokenRecord,
  Tombstone,
  Undertaker,
} from '../../core/ports.ts';
import type { Connection } from './driver.ts';
import { once } from './once.ts';
import type { TenantRows } from './tenant-rows.ts';
import type { TokenCounts } from './token-counts.ts';
import { joinBlinds, type TokenIndex } from './token-index.ts';
import { isExpired, isStorableText, type StoredToken, type TokenRows } from './token-rows.ts';
import { TOKEN_TYPE_CODES, tokenType } from './type-codes.ts';
import { optionalUuidBytes, uuidBytes, uuidText } from './uuid-bytes.ts';

interface Tables {
  readonly tenants: TenantRows;
  readonly tokens: TokenRows;
  readonly index: TokenIndex;
  readonly counts: TokenCounts;
}

/** The changes to a token that touch several tables. Synchronous; each needs a transaction around it. */
export type TokenChanges = ReturnType<typeof tokenChanges>;

export function tokenChanges(connection: Connection, { tenants, tokens, index, counts }: Tables) {
  const oldest = once(() =>
    connection
      .prepare<[number, Uint8Array, number, string], number>(
        `SELECT t.token FROM token_index i CROSS JOIN token t ON t.token = i.token AND t.tenant = i.tenant
         WHERE i.tenant = +? AND i.blind = +? AND (t.expires_at IS NULL OR t.expires_at > ?) AND t.id <> ?
         ORDER BY i.created_at, t.id LIMIT 1`,
      )
      .pluck(),
  );
  const taken = once(() =>
    connection
      .prepare<[number, string, number, string], number>(
        `SELECT EXISTS (SELECT 1 FROM token WHERE tenant = +? AND id = +?)
           OR EXISTS (SELECT 1 FROM tombstone WHERE tenant = +? AND id = +?)`,
      )
      .pluck(),
  );
  const bury = once(() =>
    connection.prepare<[number, string, number, Buffer, number, Buffer | null, number, Uint8Array]>(
      `INSERT INTO tombstone (tenant, id, type, created_by, created_at, deleted_by, deleted_at, mac)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
  );
  const expired = once(() =>
    connection.prepare<
      [number, number],
      { readonly token: number; readonly tenant: number; readonly tenant_id: Buffer }
    >(
      `SELECT t.token, t.tenant, n.id AS tenant_id
       FROM token t INDEXED BY token_expiry CROSS JOIN tenant n ON n.tenant = t.tenant
       WHERE t.expires_at <= ? ORDER BY t.expires_at LIMIT +?`,
    ),
  );

  function duplicate(tenantId: string, tenant: number, fingerprint: Uint8Array, exceptId: string, now: Instant) {
    const number = oldest().get(tenant, fingerprint, now, exceptId);
    return number === undefined ? undefined : tokens.get(tenantId, tenant, number)?.record;
  }

  function remove(tenant: number, stored: StoredToken, tombstone: Tombstone): void {
    const { record, token, typeCode } = stored;
    index.remove({ tenant, token, created_at: record.created_at }, stored.blinds);
    tokens.remove(token);
    counts.removed(tenant, typeCode);
    bury().run(
      tenant,
      record.id,
      TOKEN_TYPE_CODES[tombstone.type],
      uuidBytes(tombstone.created_by),
      tombstone.created_at,
      optionalUuidBytes(tombstone.deleted_by),
      tombstone.deleted_at,
      tombstone.mac,
    );
  }

  return {
    /** A duplicate is looked for first: with one, nothing is stored and the id does not matter. */
    insert(
      record: TokenRecord,
      indexes: TokenIndexes,
      options: { readonly deduplicate: boolean; readonly now: Instant },
    ): InsertTokenOutcome {
      const tenant = tenants.need(record.tenant_id);
      tenants.requireNewestKeys(tenant, record);
      if (options.deduplicate) {
        for (const fingerprint of [indexes.fingerprint, ...(indexes.former ?? [])]) {
          const token = duplicate(record.tenant_id, tenant, fingerprint, '', options.now);
          if (token !== undefined) return { outcome: 'duplicate', token };
        }
      }
      if (taken().get(tenant, record.id, tenant, record.id) === 1) return { outcome: 'id_taken' };
      const blinds = joinBlinds(indexes);
      const token = tokens.insert(tenant, record, blinds);
      index.insert({ tenant, token, created_at: record.created_at }, blinds);
      counts.created(tenant, TOKEN_TYPE_CODES[record.type], record.created_at, record.active_month);
      return { outcome: 'inserted' };
    },

    findDuplicate(tenantId: string, fingerprint: Uint8Array, exceptId: string, now: Instant): TokenRecord | undefined {
      const tenant = tenants.find(tenantId);
      if (tenant === undefined) return undefined;
      return duplicate(tenantId, tenant, fingerprint, isStorableText(exceptId) ? exceptId : '', now);
    },

    replace(record: TokenRecord, indexes: TokenIndexes, expectedRevision: number, now: Instant): boolean {
      const tenant = tenants.find(record.tenant_id);
      const stored = tenant === undefined ? undefined : tokens.find(record.tenant_id, tenant, record.id);
      if (tenant === undefined || stored === undefined) return false;
      if (stored.record.revision !== expectedRevision || isExpired(stored.record, now)) return false;
      tenants.requireNewestKeys(tenant, record);
      const blinds = joinBlinds(indexes);
      index.replace({ tenant, token: stored.token, created_at: stored.record.created_at }, stored.blinds, blinds);
      tokens.replace(stored.token, record, blinds);
      return true;
    },

    /** The same token under newer keys. False when it is no longer as it was read. */
    reseal(tenantId: string, tenant: number, { before, after, indexes }: ResealedToken): boolean {
      const stored = tokens.find(tenantId, tenant, before.id);
      if (stored === undefined || stored.record.revision !== before.revision) return false;
      if (stored.record.key_id !== before.key_id || stored.record.index_key_id !== before.index_key_id) return false;
      tenants.requireNewestKeys(tenant, after);
      const blinds = indexes === undefined ? stored.blinds : joinBlinds(indexes);
      index.replace({ tenant, token: stored.token, created_at: stored.record.created_at }, stored.blinds, blinds);
      tokens.replace(stored.token, after, blinds);
      return true;
    },

    delete(tombstone: Tombstone, expectedRevision: number): boolean {
      const tenant = tenants.find(tombstone.tenant_id);
      const stored = tenant === undefined ? undefined : tokens.find(tombstone.tenant_id, tenant, tombstone.id);
      if (tenant === undefined || stored === undefined || stored.record.revision !== expectedRevision) return false;
      remove(tenant, stored, tombstone);
      return true;
    },

    /** Removes at most `limit` expired tokens, those that ended first before others; answers an entry for each. */
    removeExpired(now: Instant, limit: number, undertaker: Pick<Undertaker, 'bury'>): readonly AuditDraft[] {
      return expired()
        .all(now, limit)
        .map((row) => {
          const tenantId = uuidText(row.tenant_id);
          const stored = tokens.get(tenantId, row.tenant, row.token);
          if (stored === undefined) throw new Error('unreachable: the row was there in this transaction');
          const { id, created_by, created_at } = stored.record;
          const type = tokenType(stored.typeCode);
          const left = { tenant_id: tenantId, id, type, created_by, created_at, deleted_at: now };
          const { tombstone, audit } = undertaker.bury(left);
          remove(row.tenant, stored, tombstone);
          return audit;
        });
    },
  };
}
