import type { InsertObstacle, InsertTokenOutcome, NewToken } from '../../../core/insert-ports.ts';
import type { ResealedToken } from '../../../core/key-holder-ports.ts';
import type { Instant, TokenIndexes, TokenRecord, Tombstone } from '../../../core/ports.ts';
import { isExpired } from '../../../core/time.ts';
import { isStorableText } from '../../rows/stored-value.ts';
import { type Connection, statements } from '../file/driver.ts';
import type { ContainerSets } from './container-sets.ts';
import { FILE_TABLES } from './file-dialect.ts';
import type { TenantRows } from './tenant-rows.ts';
import type { TokenCounts } from './token-counts.ts';
import type { KnownEntries, TokenIndex } from './token-index.ts';
import type { StoredToken, TokenEntries, TokenRows } from './token-rows.ts';

interface Tables {
  readonly tenants: TenantRows;
  readonly tokens: TokenRows;
  readonly sets: ContainerSets;
  readonly index: TokenIndex;
  readonly counts: TokenCounts;
}

/** The changes to a token that touch several tables. All are synchronous and need a transaction. */
export function tokenChanges(connection: Connection, { tenants, tokens, sets, index, counts }: Tables) {
  const { rows, value } = statements(connection);
  const oldest = value<[number, Uint8Array, number, number, string], number>(
    `SELECT t.token FROM token_index i CROSS JOIN token t ON t.token = i.token AND t.tenant = i.tenant
         WHERE i.tenant = +? AND i.blind = +? AND i.set_number = +?
           AND (t.expires_at IS NULL OR t.expires_at > ?) AND t.id <> ?
         ORDER BY i.created_at, t.id LIMIT 1`,
  );
  const taken = value<[number, string, number, string], number>(
    `SELECT EXISTS (SELECT 1 FROM token WHERE tenant = +? AND id = +?)
           OR EXISTS (SELECT 1 FROM tombstone WHERE tenant = +? AND id = +?)`,
  );
  const insertTombstone = rows<unknown[]>(FILE_TABLES.tombstone.insertInto('tombstone', 'tenant'));

  function duplicate(tenantId: string, tenant: number, fingerprint: Uint8Array, exceptId: string, now: Instant) {
    let found: TokenRecord | undefined;
    for (const set of sets.numbersOf(tenant, fingerprint)) {
      const number = oldest().get(tenant, fingerprint, set, now, exceptId);
      const record = number === undefined ? undefined : tokens.get(tenantId, tenant, number)?.record;
      if (record !== undefined) found = olderOf(found, record);
    }
    return found;
  }

  /** Returns a token with the same fingerprint under any of the index keys. */
  function findAnyDuplicate({ tenant_id }: TokenRecord, tenant: number, indexes: TokenIndexes, now: Instant) {
    for (const fingerprint of [indexes.fingerprint, ...(indexes.former ?? [])]) {
      const token = duplicate(tenant_id, tenant, fingerprint, '', now);
      if (token !== undefined) return token;
    }
    return undefined;
  }

  /**
   * Inserts a token and its index entries. Returns false if the id is taken; the caller then undoes the transaction,
   * because it may have a new set of containers.
   */
  function insertRow(tenant: number, record: TokenRecord, indexes: TokenIndexes, known: KnownEntries): boolean {
    const entries = index.entriesOf(tenant, indexes, known);
    const token = tokens.insert(tenant, record, entries);
    if (token === undefined) return false;
    index.insert({ tenant, token, created_at: record.created_at }, entries);
    return true;
  }

  function replaceRow(tenant: number, stored: StoredToken, record: TokenRecord, entries: TokenEntries): void {
    tokens.replace(stored.token, record, entries);
    index.replace({ tenant, token: stored.token, created_at: stored.record.created_at }, stored, entries);
    counts.replaced(tenant, stored.record, record);
  }

  function remove(tenant: number, stored: StoredToken, tombstone: Tombstone): void {
    const { record, token } = stored;
    tokens.remove(token);
    index.remove({ tenant, token, created_at: record.created_at }, stored);
    counts.removed(tenant, record);
    insertTombstone().run(...FILE_TABLES.tombstone.values(tombstone), tenant);
  }

  /**
   * Stores a token that was sealed again under newer keys. Returns false if the token has changed since it was read.
   */
  function resealOne(tenantId: string, tenant: number, { before, after, indexes }: ResealedToken): boolean {
    const stored = tokens.find(tenantId, tenant, before.id);
    if (stored === undefined || stored.record.revision !== before.revision) return false;
    if (stored.record.key_id !== before.key_id || stored.record.index_key_id !== before.index_key_id) return false;
    tenants.requireNewestKeys(tenant, after);
    const entries = indexes === undefined ? stored : index.entriesOf(tenant, indexes, new Map());
    replaceRow(tenant, stored, after, entries);
    return true;
  }

  return {
    /** Inserts a token. Searches for a duplicate first: if there is one, nothing is stored, even if the id is taken. */
    insert(
      record: TokenRecord,
      indexes: TokenIndexes,
      options: { readonly deduplicate: boolean; readonly now: Instant },
    ): InsertTokenOutcome {
      const tenant = tenants.need(record.tenant_id);
      tenants.requireNewestKeys(tenant, record);
      const token = options.deduplicate ? findAnyDuplicate(record, tenant, indexes, options.now) : undefined;
      if (token !== undefined) return { outcome: 'duplicate', token };
      if (taken().get(tenant, record.id, tenant, record.id) === 1) return { outcome: 'id_taken' };
      insertRow(tenant, record, indexes, new Map());
      counts.created(tenant, [record]);
      return { outcome: 'inserted' };
    },

    /**
     * Inserts all tokens. Returns those that cannot be inserted; if there are any, the caller undoes the transaction.
     */
    insertAll(members: readonly NewToken[], now: Instant): readonly InsertObstacle[] {
      const obstacles: InsertObstacle[] = [];
      const positioned = members.map((member, at) => ({ ...member, at }));
      for (const [tenantId, group] of Map.groupBy(positioned, ({ token }) => token.tenant_id)) {
        const tenant = tenants.need(tenantId);
        const known: KnownEntries = new Map();
        let checked: TokenRecord | undefined;
        for (const { token, indexes, deduplicate, at } of group) {
          if (token.key_id !== checked?.key_id || token.index_key_id !== checked.index_key_id) {
            tenants.requireNewestKeys(tenant, token);
          }
          checked = token;
          const found = deduplicate ? findAnyDuplicate(token, tenant, indexes, now) : undefined;
          if (found !== undefined || !insertRow(tenant, token, indexes, known))
            obstacles.push({ at, duplicate: found });
        }
        const records = group.map(({ token }) => token);
        counts.created(tenant, records);
      }
      return obstacles;
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
      replaceRow(tenant, stored, record, index.entriesOf(tenant, indexes, new Map()));
      return true;
    },

    /** Stores the tokens that were sealed again and have not changed since. Returns their number. */
    reseal(tenantId: string, resealed: readonly ResealedToken[]): number {
      const tenant = tenants.find(tenantId);
      if (tenant === undefined) return 0;
      return resealed.filter((change) => resealOne(tenantId, tenant, change)).length;
    },

    delete(tombstone: Tombstone, expectedRevision: number): boolean {
      const tenant = tenants.find(tombstone.tenant_id);
      const stored = tenant === undefined ? undefined : tokens.find(tombstone.tenant_id, tenant, tombstone.id);
      if (tenant === undefined || stored === undefined || stored.record.revision !== expectedRevision) return false;
      remove(tenant, stored, tombstone);
      return true;
    },
  };
}

/** Returns the older of two tokens, in the order of `findDuplicate`. */
function olderOf(a: TokenRecord | undefined, b: TokenRecord): TokenRecord {
  if (a === undefined || b.created_at < a.created_at) return b;
  if (b.created_at > a.created_at) return a;
  return Buffer.compare(Buffer.from(b.id), Buffer.from(a.id)) < 0 ? b : a;
}
