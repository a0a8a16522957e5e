import type { ApplicationKeyRecord } from '../../core/application-ports.ts';
import { openApplication, sealApplication } from '../../core/applications/application-codec.ts';
import { checkApplicationKey, sealApplicationKey } from '../../core/applications/application-key-codec.ts';
import type { AuthorityDraft } from '../../core/audit/ports.ts';
import { untilSwapped } from '../../core/compare-and-swap.ts';
import { parseJson } from '../../core/json/parse.ts';
import type { ResealedToken, StaleTokens } from '../../core/key-holder-ports.ts';
import type {
  ApplicationRecord,
  Store,
  TenantKeyring,
  TenantRecord,
  TokenRecord,
  WrappedKey,
} from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import { openReply, resealReply } from '../../core/reply-codec.ts';
import type { StoredReply } from '../../core/reply-ports.ts';
import { openTenant, sealTenant } from '../../core/tenants/tenant-codec.ts';
import { recordColumns } from '../../core/tokens/clear-columns.ts';
import { derive } from '../../core/tokens/derive.ts';
import { openPresented, openToken, sealToken } from '../../core/tokens/token-codec.ts';
import { rowsOf } from '../checks/rows-of.ts';
import type { KeyHolder } from '../key-holder.ts';
import { findSoundTenant } from '../tenants/find-sound-tenant.ts';
import { changeAuthority } from './change-authority.ts';

/** The number of records that one transaction reseals. Other processes wait for it for a few milliseconds. */
const BATCH = 50;
/** The number of rows that are opened between two pauses. */
const CHECKED_AT_ONCE = 50;

export interface RotationParts extends KeyHolder {
  /** Awaited between two batches, so that other users of the store go first. */
  readonly yieldToLoop?: (() => Promise<void>) | undefined;
}

export interface RotateTenantOptions {
  /** Whether to replace the index key, too. */
  readonly indexes: boolean;
  /** Removes all tokens together with the replaced keys. Absent: the tokens are sealed under the new keys. */
  readonly removeTokens?: (replaced: readonly number[], keyRemoved: (keyId: number) => AuthorityDraft) => Promise<void>;
}

export interface RotatedTenant {
  readonly tenant_id: string;
  readonly key_id: number;
  readonly index_key_id: number;
  /** The number of records that this run resealed. */
  readonly resealed: number;
  /** Whether this run finished a rotation that an earlier run or another process had started. */
  readonly resumed: boolean;
}

/** Reports that `done` of `total` records are finished. Both grow while others write. */
export type Progress = (done: number, total: number) => void;

/**
 * Rotates the keys of a tenant: always the data key, and the index key if `indexes` is set. Once a new key is stored,
 * the store rejects new records under older keys. The rows show which work remains, so the next run resumes a killed
 * rotation. Finally destroys unused keys. Returns undefined when the tenant is deleted meanwhile. Throws
 * `integrity_failure` as `findSoundTenant` does, before any change. Also throws it if a record cannot be decrypted; the
 * finished work then remains, and no key is destroyed.
 */
export async function rotateTenant(
  parts: RotationParts,
  tenantId: string,
  { indexes, removeTokens }: RotateTenantOptions,
  progress: Progress,
): Promise<RotatedTenant | undefined> {
  const { store, audit } = parts;
  const before = (await findSoundTenant(parts, tenantId))?.keys;
  if (before === undefined) return undefined;
  const count = (purpose: WrappedKey['purpose']) => before.filter((key) => key.purpose === purpose).length;
  const resumed = count('data') > 1 || count('index') > 1;
  // The newest key may have sealed tokens that are removed.
  if (!resumed || removeTokens) await addKey(parts, tenantId, 'data', before);
  if (indexes && count('index') === 1) await addKey(parts, tenantId, 'index', before);

  const found = await findSoundTenant(parts, tenantId);
  if (found === undefined) return undefined;
  const { keys, keyring } = found;
  const total = await store.countStale(tenantId, keyring.keyIds);
  let resealed = 0;
  progress(resealed, total);
  for await (const done of resealAll(store, keyring, tenantId, removeTokens === undefined)) {
    resealed += done;
    progress(resealed, Math.max(total, resealed));
    await parts.yieldToLoop?.();
  }
  await requireReadable(parts, tenantId, keyring, removeTokens === undefined);
  const current: ReadonlySet<number> = new Set(Object.values(keyring.keyIds));
  const replaced = keys.map(({ key_id }) => key_id).filter((id) => !current.has(id));
  const keyRemoved = (id: number) => keyEvent(audit, 'removeTenantKey', tenantId, id);
  if (removeTokens !== undefined) await changeAuthority(parts, () => removeTokens(replaced, keyRemoved));
  else
    for (const id of replaced) await changeAuthority(parts, () => store.removeTenantKey(tenantId, id, keyRemoved(id)));
  return { tenant_id: tenantId, ...keyring.keyIds, resealed, resumed };
}

/**
 * Rejects with `integrity_failure` if a record cannot be decrypted. A damaged row may name a newer key than the one
 * that seals it: nobody could repair it after that key is destroyed.
 */
async function requireReadable(
  { store, yieldToLoop }: RotationParts,
  tenantId: string,
  keyring: TenantKeyring,
  hasTokens: boolean,
): Promise<void> {
  const readable = {
    application: (record: ApplicationRecord) => openApplication(keyring, record.id, record),
    application_key: (record: ApplicationKeyRecord) => checkApplicationKey(keyring, record),
    reply: (record: StoredReply) => openReply(keyring, record),
    ...(hasTokens && {
      token: (record: TokenRecord) => openPresented(keyring, record.id, record, recordColumns(record)),
    }),
  };
  for (const [table, open] of Object.entries(readable)) {
    for await (const { record } of rowsOf(
      store,
      table as keyof typeof readable,
      tenantId,
      CHECKED_AT_ONCE,
      yieldToLoop,
    )) {
      if (record === undefined) throw new Problem('integrity_failure');
      (open as (record: unknown) => unknown)(record);
    }
  }
}

/** Adds a key, unless the tenant has one of this purpose that is newer than those `before`. */
async function addKey(
  parts: RotationParts,
  tenantId: string,
  purpose: WrappedKey['purpose'],
  before: readonly WrappedKey[],
): Promise<void> {
  const { store, keyring, clock, audit } = parts;
  const known = new Set(before.map(({ key_id }) => key_id));
  await untilSwapped(async () => {
    const keys = (await store.findTenant(tenantId))?.keys;
    if (keys === undefined) return true;
    // If another rotation was faster, its key is the new one.
    if (keys.some((key) => key.purpose === purpose && !known.has(key.key_id))) return true;
    const key = keyring.createTenantKey(tenantId, purpose, keys, clock.now());
    const entry = () => keyEvent(audit, 'addTenantKey', tenantId, key.key_id);
    if (await changeAuthority(parts, () => store.addTenantKey(tenantId, key, entry()))) return true;
    // Try again: the master key that wraps the new key may have been replaced.
    await keyring.refresh();
    return undefined;
  });
}

function keyEvent(
  audit: RotationParts['audit'],
  action: 'addTenantKey' | 'removeTenantKey',
  tenant_id: string,
  key_id: number,
): AuthorityDraft {
  return audit.draftAuthority({ action, status: 200, tenant_id, revision: key_id, entities: [] });
}

/** Reseals all records under older keys. Yields the number of resealed records after each batch. */
async function* resealAll(
  store: Store,
  keyring: TenantKeyring,
  tenantId: string,
  hasTokens: boolean,
): AsyncGenerator<number> {
  for (let after = hasTokens ? '' : undefined; after !== undefined; ) {
    const { tokens, next }: StaleTokens = await store.findStaleTokens(tenantId, keyring.keyIds, after, BATCH);
    const changes = [];
    for (const token of tokens) changes.push(await resealToken(keyring, token));
    yield changes.length === 0 ? 0 : await store.resealTokens(tenantId, changes);
    after = next;
  }
  yield* untilNone(
    () => store.findStaleApplications(tenantId, keyring.keyIds, BATCH),
    (applications) => resealApplications(store, keyring, applications),
  );
  yield* untilNone(
    () => store.findStaleReplies(tenantId, keyring.keyIds, BATCH),
    (replies) => {
      const changes = replies.map((before) => ({ before, after: resealReply(keyring, before) }));
      return store.resealReplies(tenantId, changes);
    },
  );
  yield* untilNone(
    () => store.findStaleApplicationKeys(tenantId, keyring.keyIds, BATCH),
    (keys) => {
      const resealed = keys.map((key) => sealApplicationKey(keyring, key, checkApplicationKey(keyring, key)));
      return store.resealApplicationKeys(tenantId, resealed);
    },
  );
  yield* untilNone(
    async () => {
      const found = await store.findTenant(tenantId);
      return found === undefined || found.tenant.key_id === keyring.keyIds.key_id ? [] : [found.tenant];
    },
    ([tenant]) => resealTenant(store, keyring, tenant as TenantRecord),
  );
}

/**
 * Reseals batches until `find` finds none, and yields the number of resealed records of each. Throws
 * `integrity_failure` if a batch comes back although nothing changed: an index of a damaged store may lack its rows.
 */
async function* untilNone<T>(
  find: () => Promise<readonly T[]>,
  reseal: (batch: readonly T[]) => Promise<number>,
): AsyncGenerator<number> {
  let failed = 0;
  for (;;) {
    const batch = await find();
    if (batch.length === 0) return;
    const done = await reseal(batch);
    failed = done === 0 ? failed + 1 : 0;
    if (failed === MAX_FAILED) throw new Problem('integrity_failure');
    yield done;
  }
}

/** The number of batches in a row of which other processes may change all records first. */
const MAX_FAILED = 20;

/**
 * Reseals applications and returns their number. Keeps their revisions, since their contents do not change. Skips a
 * record that another process has changed meanwhile: it already has the new key.
 */
async function resealApplications(
  store: Store,
  keyring: TenantKeyring,
  applications: readonly ApplicationRecord[],
): Promise<number> {
  const swapped = applications.map((stale) => {
    const { record, details } = openApplication(keyring, stale.id, stale);
    return store.replaceApplication(sealApplication(keyring, record, details).record, record.revision, undefined);
  });
  return (await Promise.all(swapped)).filter(Boolean).length;
}

async function resealTenant(store: Store, keyring: TenantKeyring, tenant: TenantRecord): Promise<number> {
  const { record, details } = openTenant(keyring, tenant.id, tenant);
  return (await store.replaceTenant(sealTenant(keyring, record, details).record, record.revision, undefined)) ? 1 : 0;
}

/**
 * Returns a token under its tenant's newest keys, with the same revision and contents. If its index key is older,
 * recomputes the fingerprint and the blind indexes. Throws `integrity_failure` for a token that cannot be decrypted.
 */
async function resealToken(keyring: TenantKeyring, before: TokenRecord): Promise<ResealedToken> {
  const { unsealed, contents } = openToken(keyring, before.id, before);
  if (before.index_key_id === keyring.keyIds.index_key_id) {
    return { before, after: sealToken(keyring, unsealed, contents) };
  }
  const { details, definition, data, masked } = contents;
  const derived = await derive(keyring, {
    ...details,
    type: unsealed.type,
    data: parseJson(data),
    dataText: data,
    definition,
  });
  return {
    before,
    after: sealToken(keyring, unsealed, { ...derived.contents, data, masked }),
    indexes: derived.indexes,
  };
}
