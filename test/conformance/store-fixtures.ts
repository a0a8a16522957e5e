import { createHash } from 'node:crypto';
import type { ApplicationKeyRecord, EndedApplications, Minting, Removal } from '../../src/core/application-ports.ts';
import { START } from '../../src/core/audit/audit-link.ts';
import type { AuditDraft, AuditEntry, AuthorityDraft } from '../../src/core/audit/ports.ts';
import type {
  ApplicationRecord,
  ExpiringRecords,
  Instant,
  PresentedToken,
  Store,
  TenantRecord,
  TokenFilter,
  TokenIndexes,
  TokenRecord,
  Tombstone,
  VaultHeader,
  WrappedKey,
} from '../../src/core/ports.ts';

/** A store under test. */
export interface OpenedStore {
  readonly store: Store;
  readonly reopen: () => Promise<Store>;
  readonly dispose: () => Promise<void>;
}

export type OpenStore = () => Promise<OpenedStore>;

export const NOW: Instant = Date.UTC(2026, 2, 1, 9, 30);
export const MONTH = 2026 * 12 + 2;
export const FIRST_PAGE = { offset: 0, limit: 100 };

let counter = 0;

/** Returns a new UUID that sorts after the earlier ones. */
export function nextId(): string {
  counter += 1;
  return `00000000-0000-7000-8000-${counter.toString(16).padStart(12, '0')}`;
}

/** Returns bytes in place of a sealed value. */
export function sealed(text: string, length = 40): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += 32) {
    bytes.set(
      createHash('sha256')
        .update(`${text}:${at}`)
        .digest()
        .subarray(0, length - at),
      at,
    );
  }
  return bytes;
}

/** The header of a vault without key slots. */
export const HEADER: VaultHeader = {
  vault_id: 'v',
  format: 1,
  created_at: NOW,
  generation: 1,
  slots: [],
  mac: sealed('mac', 32),
};

/** Returns 16 bytes in place of the blind index of `text`. */
export function blind(text: string): Uint8Array {
  return sealed(`blind ${text}`, 16);
}

/** Returns the columns that a read needs. */
export function presentedOf({
  id,
  tenant_id,
  expires_at,
  active_month,
  clear,
  presented,
  full,
}: TokenRecord): PresentedToken {
  return { id, tenant_id, expires_at, active_month, clear, presented, full };
}

export function tenantRecord(parts: Partial<TenantRecord> = {}): TenantRecord {
  const id = parts.id ?? nextId();
  return { id, owner_id: nextId(), created_at: NOW, revision: 1, key_id: 1, details: sealed(id), ...parts };
}

export function tenantKeys(tenantId: string): readonly WrappedKey[] {
  return [
    { key_id: 1, purpose: 'data', generation: 1, wrapped: sealed(`data key ${tenantId}`), created_at: NOW },
    { key_id: 2, purpose: 'index', generation: 1, wrapped: sealed(`index key ${tenantId}`), created_at: NOW },
  ];
}

export function applicationRecord(tenantId: string, parts: Partial<ApplicationRecord> = {}): ApplicationRecord {
  const id = parts.id ?? nextId();
  return {
    id,
    tenant_id: tenantId,
    type: 'private',
    key_version: 0,
    created_at: NOW,
    revision: 1,
    key_id: 1,
    details: sealed(id),
    ...parts,
  };
}

/** Returns the first key of an application, the same at each call. */
export function keyRecord(of: ApplicationRecord, parts: Partial<ApplicationKeyRecord> = {}): ApplicationKeyRecord {
  const { version = 1 } = parts;
  return {
    id: of.id.replace('-7000-', `-7${String(version).padStart(3, '0')}-`),
    tenant_id: of.tenant_id,
    application_id: of.id,
    hash: sealed(`key ${version} ${of.id}`, 32),
    version,
    created_at: NOW,
    revision: 1,
    key_id: 1,
    last_used_day: 0,
    seal: sealed(`seal ${of.id}`),
    ...parts,
  };
}

/** Returns the members of an application that another one created with its first key. */
export function createdBy(of: ApplicationRecord) {
  return { type: 'expiring', parent_id: of.id, parent_key_id: keyRecord(of).id } as const;
}

/** Inserts an application with its first key. */
export async function addApplication(store: Store, application: ApplicationRecord, minting?: Minting): Promise<void> {
  await store.insertApplication(application, ENTRY, { key: keyRecord(application), minting });
}

const AUTHOR = '00000000-0000-7000-8000-aaaaaaaaaaaa';

export function tokenRecord(tenantId: string, parts: Partial<TokenRecord> = {}): TokenRecord {
  const id = parts.id ?? nextId();
  return {
    id,
    tenant_id: tenantId,
    type: 'token',
    created_at: NOW,
    revision: 1,
    key_id: 1,
    index_key_id: 2,
    active_month: MONTH,
    clear: sealed(`clear ${id}`),
    presented: sealed(`presented ${id}`),
    full: sealed(`full ${id}`),
    ...parts,
  };
}

/** Returns the indexes of a token. Names that begin with a slash are containers. */
export function indexes(fingerprint: string, ...names: readonly string[]): TokenIndexes {
  const [containers, others] = [true, false].map((isOne) => names.filter((name) => name.startsWith('/') === isOne));
  return {
    fingerprint: blind(`fingerprint ${fingerprint}`),
    containers: containers?.map(blind),
    others: others?.map(blind) ?? [],
  };
}

/** An entry of any change: a store cannot tell what it says. */
export type TestEntry = AuditDraft & AuthorityDraft;

export function entry(text: string): TestEntry {
  const row = { at: NOW, witness: START, sealed: sealed(`event ${text}`) };
  return {
    ...row,
    from: () => 1,
    sealBehind: () => row,
  };
}

export async function auditRows(store: Store): Promise<readonly AuditEntry[]> {
  return store.readAudit(0, (await store.auditHead()).sequence);
}

export async function countChanges(store: Store): Promise<number> {
  return (await auditRows(store)).length;
}

const UNWRITABLE_ROW = { at: Number.NaN, witness: START, sealed: sealed('unwritable') };

/** An entry that no store can write. */
export const UNWRITABLE: TestEntry = { ...UNWRITABLE_ROW, from: () => 1, sealBehind: () => UNWRITABLE_ROW };

/** For tests that do not concern the audit. */
export const ENTRY = entry('any');

/** Returns the removal of rows that are all genuine. */
export const removal = (entryOf: Removal['entry']): Removal => ({ isGenuine: () => true, entry: entryOf });

/** Returns the removal with an entry of this name. */
export const removalOf = (name: string) => removal(() => entry(name));

export const REMOVAL = removalOf('any');

/** Removes at most `limit` expired records of each table. Resolves to the number of removed ones. */
export async function sweep(store: Store, now: Instant, limit = 1000, ended = REMOVAL): Promise<number> {
  const rows = async <Table extends keyof ExpiringRecords>(table: Table) =>
    (await store.findExpired(table, now, limit, new Set()))
      .map(({ record }) => record)
      .filter((one) => one !== undefined);
  let removed = 0;
  for (const token of await rows('token')) {
    const tombstone = tombstoneOf(token, { deleted_by: undefined, deleted_at: now });
    if (await store.deleteToken(tombstone, token.revision, entry(`expired ${token.id}`))) removed += 1;
  }
  for (const { tenant_id, id, revision } of await rows('application')) {
    if (await store.deleteApplication(tenant_id, id, revision, ended)) removed += 1;
  }
  for (const { tenant_id, id, application_id } of await rows('application_key')) {
    if (await store.deleteApplicationKey(tenant_id, application_id, id, ended)) removed += 1;
  }
  return removed;
}

/** Returns the removed records as `<revision> <id>`. */
export const endedNames = (ended: EndedApplications) => ({
  applications: ended.applications.map(({ id, revision }) => `${revision} ${id}`),
  keys: ended.keys.map(({ id, revision }) => `${revision} ${id}`),
});

export function tombstoneOf(token: TokenRecord, parts: Partial<Tombstone> = {}): Tombstone {
  const { tenant_id, id, type, created_at } = token;
  return {
    tenant_id,
    id,
    type,
    created_by: AUTHOR,
    created_at,
    deleted_by: AUTHOR,
    deleted_at: NOW,
    mac: blind(id),
    ...parts,
  };
}

/** Adds a new tenant with its first management application. */
export async function addTenant(store: Store, parts: Partial<TenantRecord> = {}) {
  const tenant = tenantRecord(parts);
  const keys = tenantKeys(tenant.id);
  const application = applicationRecord(tenant.id, { type: 'management' });
  const key = keyRecord(application);
  await store.insertTenant(tenant, keys, { application, key }, ENTRY);
  return { id: tenant.id, tenant, keys, application: { ...application, key_version: 1 }, key };
}

export async function addToken(
  store: Store,
  tenantId: string,
  parts: Partial<TokenRecord> = {},
  others: readonly string[] = [],
): Promise<TokenRecord> {
  const token = tokenRecord(tenantId, parts);
  const { outcome } = await store.insertToken(
    token,
    indexes(token.id, ...others),
    { deduplicate: false, now: NOW },
    ENTRY,
  );
  if (outcome !== 'inserted') throw new Error(`the fixture was not inserted: ${outcome}`);
  return token;
}

export async function idsOf(store: Store, filter: TokenFilter, now: Instant = NOW): Promise<readonly string[]> {
  return ((await store.findTokens(filter, FIRST_PAGE, now)).records ?? []).map((record) => record.id);
}

export function everything(tenantId: string): TokenFilter {
  return { tenant_id: tenantId, all: [] };
}
