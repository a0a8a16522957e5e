import { TOKEN_TYPE_NAMES } from '../../contract/token-types.ts';
import type { AuditDraft } from '../../core/audit-ports.ts';
import type {
  ApplicationRecord,
  Authority,
  InsertTokenOutcome,
  Instant,
  PageOf,
  PageRequest,
  ShownToken,
  Store,
  TenantRecord,
  TenantUsage,
  TokenFilter,
  TokenIndexes,
  TokenRecord,
  Tombstone,
  Undertaker,
  VaultHeader,
  WrappedKey,
} from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import { bytesKey, matchesToken } from './matches-token.ts';
import { blindsOf, MemoryMaintenance } from './memory-maintenance.ts';
import {
  type HeldToken,
  isLive,
  type MemoryTenant,
  memoryTenant,
  newestFirst,
  oldestFirst,
  pageOf,
  requireNewestKeys,
} from './memory-tenant.ts';

type TenantWithKeys = Pick<Authority, 'tenant' | 'keys'>;

/** A store that ends with the process: for tests of the core, and the plainest reading of what the port promises. */
export function createMemoryStore(header: VaultHeader = NO_HEADER): Store {
  return new MemoryStore(header);
}

const NO_HEADER: VaultHeader = {
  vault_id: 'memory',
  format: 1,
  created_at: 0,
  generation: 1,
  slots: [],
  mac: new Uint8Array(0),
};

class MemoryStore extends MemoryMaintenance implements Store {
  #sweptAt = 0;
  #expiredAt = 0;

  async authorityVersion(): Promise<string> {
    this.assertOpen();
    return String(this.authorityChanges);
  }

  async findAuthority(keyHash: Uint8Array, now: Instant): Promise<Authority | undefined> {
    this.assertOpen();
    const wanted = bytesKey(keyHash);
    for (const { record, keys, applications } of this.tenants.values()) {
      for (const application of applications.values()) {
        if (bytesKey(application.key_hash) === wanted && isLive(application, now)) {
          return { application, tenant: record, keys };
        }
      }
    }
    return undefined;
  }

  async ping(): Promise<void> {
    this.assertOpen();
  }

  async insertTenant(
    tenant: TenantRecord,
    keys: readonly WrappedKey[],
    application: ApplicationRecord,
    audit: AuditDraft,
  ): Promise<void> {
    this.writing();
    if (this.tenants.has(tenant.id)) throw new Error('the id of the tenant is taken');
    if (keys.some((key) => key.generation !== this.vaultHeader.generation)) throw new Problem('write_conflict');
    const held = memoryTenant(tenant, keys);
    requireNewestKeys(held, tenant);
    this.#addApplication(held, application);
    this.tenants.set(tenant.id, held);
    this.audited(audit);
  }

  async findTenant(id: string): Promise<TenantWithKeys | undefined> {
    this.assertOpen();
    const held = this.tenants.get(id);
    return held && { tenant: held.record, keys: held.keys };
  }

  async listTenants(): Promise<readonly TenantWithKeys[]> {
    this.assertOpen();
    const all = [...this.tenants.values()].sort((a, b) => oldestFirst(a.record, b.record));
    return all.map(({ record, keys }) => ({ tenant: record, keys }));
  }

  async replaceTenant(tenant: TenantRecord, expectedRevision: number, audit: AuditDraft | undefined): Promise<boolean> {
    this.writing();
    const held = this.tenants.get(tenant.id);
    if (held?.record.revision !== expectedRevision) return false;
    requireNewestKeys(held, tenant);
    const { owner_id, created_by, created_at } = held.record;
    held.record = { ...tenant, owner_id, created_by, created_at };
    this.authorityChanges += 1;
    this.audited(audit);
    return true;
  }

  async deleteTenant(id: string, audit: AuditDraft): Promise<boolean> {
    this.writing();
    this.authorityChanges += 1;
    if (!this.tenants.delete(id)) return false;
    this.audited(audit);
    return true;
  }

  async usage(tenantId: string, month: number, now: Instant): Promise<TenantUsage> {
    this.assertOpen();
    const held = this.tenants.get(tenantId);
    if (held === undefined) return { types: [], active: 0 };
    const live = [...held.tokens.values()].filter(({ record }) => isLive(record, now));
    const types = TOKEN_TYPE_NAMES.filter((type) => held.lastCreated.has(type)).map((type) => ({
      type,
      count: live.filter(({ record }) => record.type === type).length,
      last_created_at: held.lastCreated.get(type),
    }));
    return { types, active: held.active.get(month) ?? 0 };
  }

  async insertApplication(application: ApplicationRecord, audit: AuditDraft): Promise<void> {
    this.#addApplication(this.#need(application.tenant_id), application);
    this.audited(audit);
  }

  async findApplication(tenantId: string, id: string, now: Instant): Promise<ApplicationRecord | undefined> {
    this.assertOpen();
    const found = this.tenants.get(tenantId)?.applications.get(id);
    return found !== undefined && isLive(found, now) ? found : undefined;
  }

  async findApplications(
    filter: { readonly tenant_id: string; readonly ids?: readonly string[] | undefined },
    page: PageRequest,
    now: Instant,
  ): Promise<PageOf<ApplicationRecord>> {
    this.assertOpen();
    const { tenant_id, ids } = filter;
    const found = [...(this.tenants.get(tenant_id)?.applications.values() ?? [])]
      .filter((application) => isLive(application, now) && (ids === undefined || ids.includes(application.id)))
      .sort(newestFirst);
    return pageOf(found, page);
  }

  async replaceApplication(
    application: ApplicationRecord,
    expectedRevision: number,
    audit: AuditDraft | undefined,
  ): Promise<boolean> {
    this.writing();
    const held = this.tenants.get(application.tenant_id);
    const stored = held?.applications.get(application.id);
    if (held === undefined || stored?.revision !== expectedRevision) return false;
    requireNewestKeys(held, application);
    const { type, parent_id, created_by, created_at } = stored;
    held.applications.set(application.id, { ...application, type, parent_id, created_by, created_at });
    this.authorityChanges += 1;
    this.audited(audit);
    return true;
  }

  async deleteApplication(
    tenantId: string,
    id: string,
    expectedRevision: number,
    audit: (removed: readonly string[]) => AuditDraft,
  ): Promise<boolean> {
    this.writing();
    const held = this.tenants.get(tenantId);
    if (held === undefined || held.applications.get(id)?.revision !== expectedRevision) return false;
    this.audited(audit(this.#removeApplication(held, id)));
    return true;
  }

  async insertToken(
    token: TokenRecord,
    indexes: TokenIndexes,
    options: { readonly deduplicate: boolean; readonly now: Instant },
    audit: AuditDraft,
  ): Promise<InsertTokenOutcome> {
    const held = this.#need(token.tenant_id);
    // A duplicate is looked for first: with one, nothing is stored and the id does not matter.
    requireNewestKeys(held, token);
    for (const fingerprint of options.deduplicate ? [indexes.fingerprint, ...(indexes.former ?? [])] : []) {
      const duplicate = oldestWith(held, fingerprint, undefined, options.now);
      if (duplicate !== undefined) return { outcome: 'duplicate', token: duplicate };
    }
    if (held.tokens.has(token.id) || held.tombstones.has(token.id)) return { outcome: 'id_taken' };
    held.tokens.set(token.id, { record: token, blinds: blindsOf(indexes) });
    held.lastCreated.set(token.type, Math.max(token.created_at, held.lastCreated.get(token.type) ?? token.created_at));
    held.active.set(token.active_month, (held.active.get(token.active_month) ?? 0) + 1);
    this.audited(audit);
    return { outcome: 'inserted' };
  }

  async findToken(tenantId: string, id: string, now: Instant): Promise<TokenRecord | undefined> {
    this.assertOpen();
    const record = this.tenants.get(tenantId)?.tokens.get(id)?.record;
    return record !== undefined && isLive(record, now) ? record : undefined;
  }

  async findShownToken(tenantId: string, id: string, now: Instant): Promise<ShownToken | undefined> {
    const record = await this.findToken(tenantId, id, now);
    return record && shown(record);
  }

  async findTokens(filter: TokenFilter, page: PageRequest, now: Instant): Promise<PageOf<ShownToken>> {
    this.assertOpen();
    const found = [...(this.tenants.get(filter.tenant_id)?.tokens.values() ?? [])]
      .filter((token) => isLive(token.record, now) && matchesToken(token, filter))
      .map((token) => token.record)
      .sort(newestFirst)
      .map(shown);
    return pageOf(found, page);
  }

  async findDuplicate(
    tenantId: string,
    fingerprint: Uint8Array,
    exceptId: string,
    now: Instant,
  ): Promise<TokenRecord | undefined> {
    this.assertOpen();
    const held = this.tenants.get(tenantId);
    return held && oldestWith(held, fingerprint, exceptId, now);
  }

  async replaceToken(
    token: TokenRecord,
    indexes: TokenIndexes,
    { revision, now }: { readonly revision: number; readonly now: Instant },
    audit: AuditDraft,
  ): Promise<boolean> {
    this.writing();
    const held = this.tenants.get(token.tenant_id);
    const stored = held?.tokens.get(token.id)?.record;
    if (held === undefined || stored?.revision !== revision || !isLive(stored, now)) return false;
    requireNewestKeys(held, token);
    // These never change, and the month is `markActive`'s: the caller may have read the record before it was counted.
    const { type, created_by, created_at, active_month } = stored;
    held.tokens.set(token.id, {
      record: { ...token, type, created_by, created_at, active_month },
      blinds: blindsOf(indexes),
    });
    this.audited(audit);
    return true;
  }

  async deleteToken(tombstone: Tombstone, expectedRevision: number, audit: AuditDraft): Promise<boolean> {
    this.writing();
    const held = this.tenants.get(tombstone.tenant_id);
    if (held === undefined || held.tokens.get(tombstone.id)?.record.revision !== expectedRevision) return false;
    held.tokens.delete(tombstone.id);
    held.tombstones.set(tombstone.id, tombstone);
    this.audited(audit);
    return true;
  }

  async markActive(tenantId: string, ids: readonly string[], month: number): Promise<void> {
    this.writing();
    const held = this.tenants.get(tenantId);
    for (const id of ids) {
      const token = held?.tokens.get(id);
      if (held === undefined || token === undefined || token.record.active_month >= month) continue;
      held.tokens.set(id, { ...token, record: { ...token.record, active_month: month } });
      held.active.set(month, (held.active.get(month) ?? 0) + 1);
    }
  }

  async claimSweep(now: Instant, interval: number): Promise<boolean> {
    this.assertOpen();
    if (this.#sweptAt > now - interval) return false;
    this.writing();
    this.#sweptAt = now;
    return true;
  }

  async keepExpiry(now: Instant): Promise<Instant> {
    this.assertOpen();
    for (const { tokens, applications } of this.tenants.values()) {
      for (const { expires_at = 0 } of [
        ...[...tokens.values()].map(({ record }) => record),
        ...applications.values(),
      ]) {
        if (expires_at <= now) this.#expiredAt = Math.max(this.#expiredAt, expires_at);
      }
    }
    return this.#expiredAt;
  }

  async removeExpired(now: Instant, limit: number, undertaker: Undertaker): Promise<number> {
    this.writing();
    let removed = 0;
    for (const held of this.tenants.values()) {
      for (const { record } of [...held.tokens.values()]) {
        if (removed === limit) return removed;
        if (isLive(record, now)) continue;
        const { tenant_id, id, type, created_by, created_at } = record;
        const left = { tenant_id, id, type, created_by, created_at, deleted_at: now };
        const { tombstone, audit } = undertaker.bury(left);
        held.tokens.delete(id);
        held.tombstones.set(id, tombstone);
        this.audited(audit);
        removed += 1;
      }
      for (const application of [...held.applications.values()]) {
        if (removed === limit) return removed;
        if (isLive(application, now) || !held.applications.has(application.id)) continue;
        this.audited(undertaker.dismiss(application.tenant_id, this.#removeApplication(held, application.id)));
        removed += 1;
      }
    }
    return removed;
  }

  async close(): Promise<void> {
    this.closed = true;
  }

  /** The tenant of a write. One that is gone leaves nobody who could be the caller (decisions §8). */
  #need(id: string): MemoryTenant {
    this.writing();
    const held = this.tenants.get(id);
    if (held === undefined) throw new Problem('unauthenticated');
    return held;
  }

  #addApplication(held: MemoryTenant, application: ApplicationRecord): void {
    const { id, parent_id } = application;
    requireNewestKeys(held, application);
    if (parent_id !== undefined && !held.applications.has(parent_id)) throw new Problem('unauthenticated');
    if (held.applications.has(id)) throw new Error('the id of the application is taken');
    held.applications.set(id, application);
    this.authorityChanges += 1;
  }

  /** Answers the ids of all that were removed, its own first. */
  #removeApplication(held: MemoryTenant, id: string): readonly string[] {
    const children = [...held.applications.values()].filter((other) => other.parent_id === id);
    const removed = [id, ...children.map((child) => child.id)];
    for (const one of removed) held.applications.delete(one);
    this.authorityChanges += 1;
    return removed;
  }
}

function oldestWith(
  held: MemoryTenant,
  blind: Uint8Array,
  exceptId: string | undefined,
  now: Instant,
): TokenRecord | undefined {
  const wanted = bytesKey(blind);
  return [...held.tokens.values()]
    .filter((token: HeldToken) => token.blinds.has(wanted) && token.record.id !== exceptId && isLive(token.record, now))
    .map((token) => token.record)
    .sort(oldestFirst)[0];
}

function shown({ definition: _, ...record }: TokenRecord): ShownToken {
  return record;
}
