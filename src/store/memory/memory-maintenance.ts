import { NO_LINK } from '../../core/audit-link.ts';
import type { AuditDraft, AuditEntry, AuditHead, AuditStore } from '../../core/audit-ports.ts';
import type {
  ChangeMark,
  Finding,
  InspectedRow,
  KeysOfTenant,
  Maintenance,
  ResealedToken,
} from '../../core/maintenance-ports.ts';
import type {
  ApplicationRecord,
  KeyIds,
  TokenIndexes,
  TokenRecord,
  Tombstone,
  VaultHeader,
  WrappedKey,
} from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import { bytesKey } from './matches-token.ts';
import { compareText, type MemoryTenant, newestKey, requireNewestKeys } from './memory-tenant.ts';

/** What the memory store holds, and the part of the port that keys and inspection need. */
export class MemoryMaintenance implements Maintenance, AuditStore {
  protected readonly tenants = new Map<string, MemoryTenant>();
  protected vaultHeader: VaultHeader;
  protected authorityChanges = 0;
  protected closed = false;
  #changes = 0;
  readonly #audit: AuditEntry[] = [];

  constructor(header: VaultHeader) {
    this.vaultHeader = header;
  }

  async header(): Promise<VaultHeader> {
    this.assertOpen();
    return this.vaultHeader;
  }

  async replaceHeader(header: VaultHeader, expected: VaultHeader, audit: AuditDraft): Promise<boolean> {
    this.writing();
    if (bytesKey(this.vaultHeader.mac) !== bytesKey(expected.mac)) return false;
    this.vaultHeader = header;
    this.authorityChanges += 1;
    this.audited(audit);
    return true;
  }

  async replaceMasterKey(
    header: VaultHeader,
    expected: VaultHeader,
    keys: readonly KeysOfTenant[],
    audit: AuditDraft,
  ): Promise<boolean> {
    this.writing();
    const ids = (all: readonly KeysOfTenant[]) =>
      JSON.stringify(all.flatMap((one) => one.keys.map((key) => `${one.tenant_id} ${key.key_id}`)).sort());
    const held = [...this.tenants].map(([tenant_id, tenant]) => ({ tenant_id, keys: tenant.keys }));
    if (ids(keys) !== ids(held) || !(await this.replaceHeader(header, expected, audit))) return false;
    for (const { tenant_id, keys: rewrapped } of keys) {
      const tenant = this.tenants.get(tenant_id);
      if (tenant !== undefined) tenant.keys = rewrapped;
    }
    return true;
  }

  async addTenantKey(tenantId: string, key: WrappedKey, audit: AuditDraft): Promise<boolean> {
    this.writing();
    const held = this.tenants.get(tenantId);
    if (held === undefined || held.keys.some((other) => other.key_id >= key.key_id)) return false;
    if (key.generation !== this.vaultHeader.generation) return false;
    held.keys = [...held.keys, key];
    this.authorityChanges += 1;
    this.audited(audit);
    return true;
  }

  async removeTenantKey(tenantId: string, keyId: number, audit: AuditDraft): Promise<boolean> {
    this.writing();
    const held = this.tenants.get(tenantId);
    const purpose = held?.keys.find((key) => key.key_id === keyId)?.purpose;
    if (held === undefined || purpose === undefined || newestKey(held.keys, purpose) === keyId) return false;
    const tokens = [...held.tokens.values()].map(({ record }) => record);
    const inUse =
      tokens.some((token) => token.key_id === keyId || token.index_key_id === keyId) ||
      [held.record, ...held.applications.values()].some((record) => record.key_id === keyId);
    if (inUse) return false;
    held.keys = held.keys.filter((key) => key.key_id !== keyId);
    this.authorityChanges += 1;
    this.audited(audit);
    return true;
  }

  async countStale(tenantId: string, current: KeyIds): Promise<number> {
    this.assertOpen();
    const held = this.tenants.get(tenantId);
    if (held === undefined) return 0;
    const others = [held.record, ...held.applications.values()].filter((record) => record.key_id < current.key_id);
    return staleTokens(held, current).length + others.length;
  }

  async findStaleTokens(tenantId: string, current: KeyIds, limit: number): Promise<readonly TokenRecord[]> {
    this.assertOpen();
    const held = this.tenants.get(tenantId);
    return held === undefined ? [] : staleTokens(held, current).slice(0, limit);
  }

  async findStaleApplications(tenantId: string, current: KeyIds, limit: number): Promise<readonly ApplicationRecord[]> {
    this.assertOpen();
    const applications = [...(this.tenants.get(tenantId)?.applications.values() ?? [])];
    return applications.filter((record) => record.key_id < current.key_id).slice(0, limit);
  }

  async resealTokens(tenantId: string, changes: readonly ResealedToken[]): Promise<number> {
    this.writing();
    const held = this.tenants.get(tenantId);
    if (held === undefined) return 0;
    for (const { after } of changes) requireNewestKeys(held, after);
    return changes.filter((change) => reseal(held, change)).length;
  }

  async lastChange(): Promise<ChangeMark> {
    this.assertOpen();
    return { counter: this.#changes, mark: Uint8Array.of(this.#changes & 0xff) };
  }

  /** Nothing can alter what is in this process's memory. */
  async inspect(): Promise<readonly Finding[]> {
    this.assertOpen();
    return [];
  }

  async inspectTokens(tenantId: string, after: string, limit: number): Promise<readonly InspectedRow<TokenRecord>[]> {
    this.assertOpen();
    const tokens = [...(this.tenants.get(tenantId)?.tokens.values() ?? [])];
    return tokens
      .map(({ record, blinds }) => ({ id: record.id, record, indexes: [...blinds].map(bytesOf) }))
      .filter(({ id }) => compareText(id, after) > 0)
      .sort((a, b) => compareText(a.id, b.id))
      .slice(0, limit);
  }

  async inspectApplications(
    tenantId: string,
    after: string,
    limit: number,
  ): Promise<readonly InspectedRow<ApplicationRecord>[]> {
    this.assertOpen();
    const applications = [...(this.tenants.get(tenantId)?.applications.values() ?? [])];
    return applications
      .map((record) => ({ id: record.id, record, indexes: [] }))
      .filter(({ id }) => compareText(id, after) > 0)
      .sort((a, b) => compareText(a.id, b.id))
      .slice(0, limit);
  }

  async inspectTombstones(tenantId: string, after: string, limit: number): Promise<readonly InspectedRow<Tombstone>[]> {
    this.assertOpen();
    const tombstones = [...(this.tenants.get(tenantId)?.tombstones.values() ?? [])];
    return tombstones
      .map((record) => ({ id: record.id, record, indexes: [] }))
      .filter(({ id }) => compareText(id, after) > 0)
      .sort((a, b) => compareText(a.id, b.id))
      .slice(0, limit);
  }

  async removeAllTokens(tenantIds: readonly string[], audit: (tenantId: string) => AuditDraft): Promise<number> {
    this.writing();
    let removed = 0;
    for (const id of tenantIds) {
      const held = this.tenants.get(id);
      if (held === undefined) continue;
      removed += held.tokens.size;
      for (const kept of [held.tokens, held.tombstones, held.lastCreated, held.active]) kept.clear();
      this.audited(audit(id));
    }
    return removed;
  }

  async appendAudit(drafts: readonly AuditDraft[]): Promise<void> {
    this.writing();
    for (const draft of drafts) this.audited(draft);
  }

  async readAudit(after: number, limit: number): Promise<readonly AuditEntry[]> {
    this.assertOpen();
    return this.#audit.slice(after, after + limit);
  }

  async auditHead(): Promise<AuditHead> {
    this.assertOpen();
    return this.#audit.at(-1) ?? { sequence: 0, link: NO_LINK };
  }

  /** What a change ends with. Nothing for a record that is only sealed anew. */
  protected audited(draft: AuditDraft | undefined): void {
    if (draft === undefined) return;
    const sequence = this.#audit.length + 1;
    const link = draft.link(this.#audit.at(-1)?.link ?? NO_LINK, sequence);
    this.#audit.push({ sequence, at: draft.at, sealed: draft.sealed, link });
  }

  protected assertOpen(): void {
    if (this.closed) throw new Problem('vault_stopping', { retryAfter: 1 });
  }

  /** Begins what may change something: a commit. */
  protected writing(): void {
    this.assertOpen();
    this.#changes += 1;
  }
}

/** In the order in which `InspectedRow` gives them: the fingerprint first. */
export function blindsOf(indexes: TokenIndexes): ReadonlySet<string> {
  return new Set([indexes.fingerprint, ...indexes.others].map(bytesKey));
}

function bytesOf(key: string): Uint8Array {
  return Uint8Array.from(key, (character) => character.charCodeAt(0));
}

function staleTokens(held: MemoryTenant, { key_id, index_key_id }: KeyIds): readonly TokenRecord[] {
  const records = [...held.tokens.values()].map(({ record }) => record);
  return records.filter((record) => record.key_id < key_id || record.index_key_id < index_key_id);
}

function reseal(held: MemoryTenant, { before, after, indexes }: ResealedToken): boolean {
  const stored = held.tokens.get(before.id);
  const same =
    stored?.record.revision === before.revision &&
    stored.record.key_id === before.key_id &&
    stored.record.index_key_id === before.index_key_id;
  if (stored === undefined || !same) return false;
  // The month is `markActive`'s.
  const record = { ...after, active_month: stored.record.active_month };
  held.tokens.set(before.id, { record, blinds: indexes === undefined ? stored.blinds : blindsOf(indexes) });
  return true;
}
