import type { AuditDraft, AuditEntry, AuditHead } from '../../core/audit-ports.ts';
import type { ChangeMark, Finding, InspectedRow, KeysOfTenant, ResealedToken } from '../../core/maintenance-ports.ts';
import type {
  ApplicationRecord,
  Authority,
  InsertTokenOutcome,
  Instant,
  KeyIds,
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
import { applicationRows } from './application-rows.ts';
import { auditRows } from './audit-rows.ts';
import { expiryMark } from './expiry-mark.ts';
import { findTokens } from './find-tokens.ts';
import { readHeader } from './header-table.ts';
import { inspectTables } from './inspect-tables.ts';
import { KeysChanged, keyRotation } from './key-rotation.ts';
import { rowInspection } from './row-inspection.ts';
import type { Residue, Session } from './session.ts';
import { shownTokenRows } from './shown-token-rows.ts';
import { sweepClaims } from './sweep-claims.ts';
import { type TenantWithKeys, tenantRows } from './tenant-rows.ts';
import { tokenChanges } from './token-changes.ts';
import { tokenCounts } from './token-counts.ts';
import { tokenIndex } from './token-index.ts';
import { isExpired, tokenRows } from './token-rows.ts';

/** How many expired records one transaction removes. */
const SWEEP_BATCH = 100;

/**
 * The store in one SQLite file. Each method is one read or one transaction of its session; what they do stands in the
 * modules of the tables. Other processes may have the same file open: what they commit is seen by the next call.
 */
export class SqliteStore implements Store {
  readonly #session: Session;
  readonly #tenants;
  readonly #applications;
  readonly #tokens;
  readonly #shown;
  readonly #counts;
  readonly #changes;
  readonly #rotation;
  readonly #inspection;
  readonly #find;
  readonly #sweeps;
  readonly #audit;
  readonly #expiries;

  constructor(session: Session) {
    const { connection } = session;
    this.#session = session;
    this.#tenants = tenantRows(connection);
    this.#applications = applicationRows(connection, this.#tenants);
    this.#tokens = tokenRows(connection);
    this.#shown = shownTokenRows(connection);
    this.#counts = tokenCounts(connection, this.#tenants);
    this.#inspection = rowInspection(connection, this.#tenants);
    this.#changes = tokenChanges(connection, {
      tenants: this.#tenants,
      tokens: this.#tokens,
      index: tokenIndex(connection),
      counts: this.#counts,
    });
    this.#rotation = keyRotation(connection, this.#tenants, this.#changes);
    this.#sweeps = sweepClaims(connection);
    this.#audit = auditRows(connection);
    this.#expiries = expiryMark(connection);
    this.#find = findTokens(connection, this.#tenants, this.#shown);
  }

  authorityVersion(): Promise<string> {
    return this.#session.authorityVersion();
  }

  findAuthority(keyHash: Uint8Array, now: Instant): Promise<Authority | undefined> {
    return this.#session.readSnapshot(() => {
      const found = this.#applications.findByKeyHash(keyHash, now);
      const owner = found && this.#tenants.findWithKeysByNumber(found.tenant);
      return found && owner && { application: found.record, ...owner };
    });
  }

  ping(): Promise<void> {
    return this.#session.ping();
  }

  insertTenant(
    tenant: TenantRecord,
    keys: readonly WrappedKey[],
    application: ApplicationRecord,
    audit: AuditDraft,
  ): Promise<void> {
    return this.#changeAuthority('added', () => {
      this.#tenants.insert(tenant, keys);
      this.#applications.insert(application);
      this.#audit.append(audit);
    });
  }

  findTenant(id: string): Promise<TenantWithKeys | undefined> {
    return this.#session.readSnapshot(() => this.#tenants.findWithKeys(id));
  }

  listTenants(): Promise<readonly TenantWithKeys[]> {
    return this.#session.readSnapshot(() => this.#tenants.list());
  }

  replaceTenant(tenant: TenantRecord, expectedRevision: number, audit: AuditDraft | undefined): Promise<boolean> {
    return this.#changeAuthority('removed', () =>
      this.#audited(this.#tenants.replace(tenant, expectedRevision), audit),
    );
  }

  deleteTenant(id: string, audit: AuditDraft): Promise<boolean> {
    return this.#destroy(() => this.#audited(this.#tenants.remove(id), audit));
  }

  usage(tenantId: string, month: number, now: Instant): Promise<TenantUsage> {
    return this.#session.readSnapshot(() => this.#counts.usage(tenantId, month, now));
  }

  insertApplication(application: ApplicationRecord, audit: AuditDraft): Promise<void> {
    return this.#changeAuthority('added', () => {
      this.#applications.insert(application);
      this.#audit.append(audit);
    });
  }

  findApplication(tenantId: string, id: string, now: Instant): Promise<ApplicationRecord | undefined> {
    return this.#session.read(() => this.#applications.find(tenantId, id, now));
  }

  findApplications(
    filter: { readonly tenant_id: string; readonly ids?: readonly string[] | undefined },
    page: PageRequest,
    now: Instant,
  ): Promise<PageOf<ApplicationRecord>> {
    return this.#session.readSnapshot(() => this.#applications.page(filter, page, now));
  }

  replaceApplication(
    application: ApplicationRecord,
    expectedRevision: number,
    audit: AuditDraft | undefined,
  ): Promise<boolean> {
    return this.#changeAuthority('removed', () =>
      this.#audited(this.#applications.replace(application, expectedRevision), audit),
    );
  }

  deleteApplication(
    tenantId: string,
    id: string,
    expectedRevision: number,
    audit: (removed: readonly string[]) => AuditDraft,
  ): Promise<boolean> {
    return this.#changeAuthority('removed', () => {
      const removed = this.#applications.remove(tenantId, id, expectedRevision);
      return this.#audited(removed !== undefined, removed && audit(removed));
    });
  }

  insertToken(
    token: TokenRecord,
    indexes: TokenIndexes,
    options: { readonly deduplicate: boolean; readonly now: Instant },
    audit: AuditDraft,
  ): Promise<InsertTokenOutcome> {
    return this.#session.write('added', () => {
      const result = this.#changes.insert(token, indexes, options);
      if (result.outcome === 'inserted') this.#audit.append(audit);
      return result;
    });
  }

  findToken(tenantId: string, id: string, now: Instant): Promise<TokenRecord | undefined> {
    return this.#session.read(() => {
      const tenant = this.#tenants.find(tenantId);
      const record = tenant === undefined ? undefined : this.#tokens.find(tenantId, tenant, id)?.record;
      return record === undefined || isExpired(record, now) ? undefined : record;
    });
  }

  findShownToken(tenantId: string, id: string, now: Instant): Promise<ShownToken | undefined> {
    return this.#session.read(() => {
      const record = this.#shown.find(tenantId, id);
      return record === undefined || isExpired(record, now) ? undefined : record;
    });
  }

  findTokens(filter: TokenFilter, page: PageRequest, now: Instant): Promise<PageOf<ShownToken>> {
    return this.#session.readSnapshot(() => this.#find(filter, page, now));
  }

  findDuplicate(
    tenantId: string,
    fingerprint: Uint8Array,
    exceptId: string,
    now: Instant,
  ): Promise<TokenRecord | undefined> {
    return this.#session.readSnapshot(() => this.#changes.findDuplicate(tenantId, fingerprint, exceptId, now));
  }

  replaceToken(
    token: TokenRecord,
    indexes: TokenIndexes,
    { revision, now }: { readonly revision: number; readonly now: Instant },
    audit: AuditDraft,
  ): Promise<boolean> {
    return this.#session.write('removed', () =>
      this.#audited(this.#changes.replace(token, indexes, revision, now), audit),
    );
  }

  deleteToken(tombstone: Tombstone, expectedRevision: number, audit: AuditDraft): Promise<boolean> {
    return this.#session.write('removed', () =>
      this.#audited(this.#changes.delete(tombstone, expectedRevision), audit),
    );
  }

  appendAudit(drafts: readonly AuditDraft[]): Promise<void> {
    return this.#session.write('added', () => this.#audit.append(...drafts));
  }

  readAudit(after: number, limit: number): Promise<readonly AuditEntry[]> {
    return this.#session.read(() => this.#audit.read(after, limit));
  }

  auditHead(): Promise<AuditHead> {
    return this.#session.read(() => this.#audit.head());
  }

  markActive(tenantId: string, ids: readonly string[], month: number): Promise<void> {
    return this.#session.write('added', () => this.#counts.markActive(tenantId, ids, month));
  }

  async removeExpired(now: Instant, limit: number, undertaker: Undertaker): Promise<number> {
    let removed = 0;
    while (removed < limit) {
      const batch = Math.min(SWEEP_BATCH, limit - removed);
      const count = await this.#session.write('removed', () => this.#sweep(now, batch, undertaker));
      removed += count;
      if (count < batch) break;
    }
    return removed;
  }

  async header(): Promise<VaultHeader> {
    const header = await this.#session.readSnapshot(() => readHeader(this.#session.connection));
    if (header === undefined) throw new Problem('integrity_failure');
    return header;
  }

  replaceHeader(header: VaultHeader, expected: VaultHeader, audit: AuditDraft): Promise<boolean> {
    return this.#destroy(() => this.#audited(this.#rotation.replaceHeader(header, expected), audit));
  }

  async replaceMasterKey(
    header: VaultHeader,
    expected: VaultHeader,
    keys: readonly KeysOfTenant[],
    audit: AuditDraft,
  ): Promise<boolean> {
    try {
      return await this.#destroy(() => this.#audited(this.#rotation.replaceMasterKey(header, expected, keys), audit));
    } catch (error) {
      if (error instanceof KeysChanged) return false;
      throw error;
    }
  }

  addTenantKey(tenantId: string, key: WrappedKey, audit: AuditDraft): Promise<boolean> {
    return this.#changeAuthority('added', () => this.#audited(this.#rotation.addKey(tenantId, key), audit));
  }

  removeTenantKey(tenantId: string, keyId: number, audit: AuditDraft): Promise<boolean> {
    return this.#destroy(() => this.#audited(this.#rotation.removeKey(tenantId, keyId), audit));
  }

  countStale(tenantId: string, current: KeyIds): Promise<number> {
    return this.#session.read(() => this.#rotation.countStale(tenantId, current));
  }

  findStaleTokens(tenantId: string, current: KeyIds, limit: number): Promise<readonly TokenRecord[]> {
    return this.#session.readSnapshot(() => this.#rotation.staleTokens(tenantId, current, limit));
  }

  findStaleApplications(tenantId: string, current: KeyIds, limit: number): Promise<readonly ApplicationRecord[]> {
    return this.#session.readSnapshot(() => this.#rotation.staleApplications(tenantId, current, limit));
  }

  resealTokens(tenantId: string, changes: readonly ResealedToken[]): Promise<number> {
    return this.#session.write('removed', () => this.#rotation.reseal(tenantId, changes));
  }

  async removeAllTokens(tenantIds: readonly string[], audit: (tenantId: string) => AuditDraft): Promise<number> {
    const removed = await this.#session.write('removed', () =>
      tenantIds.reduce((sum, id) => {
        const count = this.#tenants.empty(id);
        if (count !== undefined) this.#audit.append(audit(id));
        return sum + (count ?? 0);
      }, 0),
    );
    await this.#session.emptyLog();
    return removed;
  }

  async claimSweep(now: Instant, interval: number): Promise<boolean> {
    const due = now - interval;
    // Most callers are not the one: they read, and do not wait for a commit.
    if (!(await this.#session.read(() => this.#sweeps.isDue(due)))) return false;
    return this.#session.write('added', () => this.#sweeps.claim(now, due));
  }

  async keepExpiry(now: Instant): Promise<Instant> {
    const { kept, passed } = await this.#session.readSnapshot(() => this.#expiries.read(now));
    if (passed <= kept) return kept;
    // A full or busy disk stops no reader: whoever comes next keeps it.
    await this.#session.write('added', () => this.#expiries.keep(passed)).catch(() => undefined);
    return passed;
  }

  lastChange(): Promise<ChangeMark> {
    return this.#session.lastChange();
  }

  inspect(): Promise<readonly Finding[]> {
    return this.#session.readSnapshot(() => inspectTables(this.#session.connection));
  }

  inspectTokens(tenantId: string, after: string, limit: number): Promise<readonly InspectedRow<TokenRecord>[]> {
    return this.#session.readSnapshot(() => this.#inspection.tokens(tenantId, after, limit));
  }

  inspectApplications(
    tenantId: string,
    after: string,
    limit: number,
  ): Promise<readonly InspectedRow<ApplicationRecord>[]> {
    return this.#session.readSnapshot(() => this.#inspection.applications(tenantId, after, limit));
  }

  inspectTombstones(tenantId: string, after: string, limit: number): Promise<readonly InspectedRow<Tombstone>[]> {
    return this.#session.readSnapshot(() => this.#inspection.tombstones(tenantId, after, limit));
  }

  close(): Promise<void> {
    return this.#session.close();
  }

  #sweep(now: Instant, limit: number, undertaker: Undertaker): number {
    const buried = this.#changes.removeExpired(now, limit, undertaker);
    for (const audit of buried) this.#audit.append(audit);
    const dismissed = this.#applications.removeExpired(now, limit - buried.length);
    for (const { tenant_id, ids } of dismissed) this.#audit.append(undertaker.dismiss(tenant_id, ids));
    if (dismissed.length > 0) this.#session.touchAuthority();
    return buried.length + dismissed.length;
  }

  /** Inside the transaction of a change: its entry, if it was made. */
  #audited(changed: boolean, audit: AuditDraft | undefined): boolean {
    if (changed && audit !== undefined) this.#audit.append(audit);
    return changed;
  }

  /** The write-ahead log is emptied before this resolves, unless another process keeps reading it for seconds. */
  async #destroy(change: () => boolean): Promise<boolean> {
    const changed = await this.#changeAuthority('removed', change);
    if (changed) await this.#session.emptyLog();
    return changed;
  }

  #changeAuthority<T>(residue: Residue, change: () => T): Promise<T> {
    return this.#session.write(residue, () => {
      this.#session.touchAuthority();
      return change();
    });
  }
}
