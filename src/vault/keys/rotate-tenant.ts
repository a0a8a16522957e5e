import type { ApplicationKeyRecord } from '../../core/application-ports.ts';
import {
  checkApplicationKey,
  openApplication,
  sealApplication,
  sealApplicationKey,
} from '../../core/applications/application-codec.ts';
import type { AuthorityDraft } from '../../core/audit/ports.ts';
import { untilSwapped } from '../../core/compare-and-swap.ts';
import { parseJson } from '../../core/json/parse.ts';
import type { InspectedRecords, ResealedToken } from '../../core/key-holder-ports.ts';
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
import { openTenant, sealTenant } from '../../core/tenants/tenant-codec.ts';
import { recordColumns } from '../../core/tokens/clear-columns.ts';
import { derive } from '../../core/tokens/derive.ts';
import { openPresented, openToken, sealToken } from '../../core/tokens/token-codec.ts';
import { lastId } from '../checks/rows-of.ts';
import type { KeyHolder } from '../key-holder.ts';
import { findSoundTenant } from '../tenants/find-sound-tenant.ts';
import { changeAuthority } from './change-authority.ts';

/** The number of records that one transaction reseals. Other processes wait for it for a few milliseconds. */
const BATCH = 50;
/** The maximum number of sealed bytes in a transaction, unless one token has more. */
const BATCH_BYTES = 1024 * 1024;

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
 * `integrity_failure` as `findSoundTenant` does, before any change. Also throws it if a record cannot be decrypted: the
 * finished work then remains, and no key is destroyed. And if a record that the walk missed keeps an older key.
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
  const current: ReadonlySet<number> = new Set(Object.values(keyring.keyIds));
  const replaced = keys.map(({ key_id }) => key_id).filter((id) => !current.has(id));
  const keyRemoved = (id: number) => keyEvent(audit, 'removeTenantKey', tenantId, id);
  if (removeTokens !== undefined) await changeAuthority(parts, () => removeTokens(replaced, keyRemoved));
  else
    for (const id of replaced) await changeAuthority(parts, () => store.removeTenantKey(tenantId, id, keyRemoved(id)));
  // The store keeps a key that is in use. The walk misses records that an index of a damaged store lacks.
  const left = (await store.findTenant(tenantId))?.keys ?? [];
  if (left.some(({ key_id }) => replaced.includes(key_id))) throw new Problem('integrity_failure');
  return { tenant_id: tenantId, ...keyring.keyIds, resealed, resumed };
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

type ResealedTable = Exclude<keyof InspectedRecords, 'tombstone'>;

/**
 * Reseals all records under older keys. Yields the number of resealed records of each batch. Opens all other records: a
 * damaged row may name a newer key than the one that seals it, and nobody could repair it after that key is destroyed.
 * Throws `integrity_failure` if a record cannot be decrypted.
 */
async function* resealAll(
  store: Store,
  keyring: TenantKeyring,
  tenantId: string,
  hasTokens: boolean,
): AsyncGenerator<number> {
  const { key_id, index_key_id } = keyring.keyIds;

  /**
   * Reads a page again until it has no record under older keys. `reseal` skips records that another process has changed
   * meanwhile: they have the new key. Throws `integrity_failure` if a page keeps them: an index of a damaged store may
   * lack their rows, as `reseal` reads them.
   */
  async function* resealTable<Table extends ResealedTable>(
    table: Table,
    open: (record: InspectedRecords[Table]) => unknown,
    reseal: (stale: readonly InspectedRecords[Table][]) => Promise<number>,
  ): AsyncGenerator<number> {
    let failed = 0;
    for (let after: string | undefined = ''; after !== undefined; ) {
      const rows = await store.inspectRows(table, tenantId, after, BATCH);
      const stale: InspectedRecords[Table][] = [];
      for (const { record } of rows) {
        if (record === undefined) throw new Problem('integrity_failure');
        const hasOldIndexes = 'index_key_id' in record && record.index_key_id < index_key_id;
        if (record.key_id < key_id || hasOldIndexes) stale.push(record);
        else open(record);
      }
      let done = 0;
      for (const batch of batchesOf(stale)) {
        const resealed = await reseal(batch);
        done += resealed;
        yield resealed;
      }
      failed = done < stale.length ? failed + 1 : 0;
      if (failed === MAX_FAILED) throw new Problem('integrity_failure');
      if (stale.length === 0) yield 0;
      if (failed === 0) after = lastId(rows, after);
    }
  }

  if (hasTokens) {
    const open = (token: TokenRecord) => openPresented(keyring, token.id, token, recordColumns(token));
    yield* resealTable('token', open, async (tokens) => {
      const changes: ResealedToken[] = [];
      for (const token of tokens) changes.push(await resealToken(keyring, token));
      return store.resealTokens(tenantId, changes);
    });
  }
  yield* resealTable(
    'application',
    (application) => openApplication(keyring, application.id, application),
    (applications) => resealApplications(store, keyring, applications),
  );
  yield* resealTable(
    'reply',
    (reply) => openReply(keyring, reply),
    (replies) => {
      const changes = replies.map((before) => ({ before, after: resealReply(keyring, before) }));
      return store.resealReplies(tenantId, changes);
    },
  );
  const openKey = (key: ApplicationKeyRecord) => checkApplicationKey(keyring, key);
  yield* resealTable('application_key', openKey, (keys) => {
    const resealed = keys.map((key) => sealApplicationKey(keyring, key, openKey(key)));
    return store.resealApplicationKeys(tenantId, resealed);
  });
  yield await untilSwapped(async () => {
    const tenant = (await store.findTenant(tenantId))?.tenant;
    if (tenant === undefined || tenant.key_id === key_id) return 0;
    return (await resealTenant(store, keyring, tenant)) ? 1 : undefined;
  });
}

/** Splits the records of a page into batches of at most a few megabytes. */
function* batchesOf<Found extends object>(records: readonly Found[]): Generator<readonly Found[]> {
  let batch: Found[] = [];
  let bytes = 0;
  for (const record of records) {
    batch.push(record);
    const { full, presented } = record as Partial<TokenRecord>;
    bytes += (full?.length ?? 0) + (presented?.length ?? 0);
    if (bytes <= BATCH_BYTES) continue;
    yield batch;
    [batch, bytes] = [[], 0];
  }
  if (batch.length > 0) yield batch;
}

/** The number of reads of a page of which other processes may change a record each time. */
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

async function resealTenant(store: Store, keyring: TenantKeyring, tenant: TenantRecord): Promise<boolean> {
  const { record, details } = openTenant(keyring, tenant.id, tenant);
  return store.replaceTenant(sealTenant(keyring, record, details).record, record.revision, undefined);
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
