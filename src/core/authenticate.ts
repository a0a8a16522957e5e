import { createGrants } from './access/grants.ts';
import { hasApiKeyFormat, isApiKey } from './applications/api-key.ts';
import { isReplaced, type OpenedApplication, openApplication } from './applications/application-codec.ts';
import type { Stamp } from './audit/follower.ts';
import type { Context, Identity } from './handler.ts';
import type { ApplicationRecord, Instant, TenantKeyring } from './ports.ts';
import { Problem } from './problem.ts';
import { type Steps, settled } from './steps.ts';
import { openTenant } from './tenants/tenant-codec.ts';
import { isExpired, latestEnd } from './time.ts';

const MAX_CACHED = 10_000;
const NEVER = Number.POSITIVE_INFINITY;

interface Entry {
  readonly identity: Identity;
  /** The records of the identity. */
  readonly stamp: Stamp;
  /** The end of an expiring application. */
  readonly expires_at: Instant | undefined;
}

/**
 * Creates step 1 of each call: the API key identifies the application and, through the application, the tenant (§5).
 * Every invalid key gets the same 401. Identities are cached until the follower passes an entry about their
 * records. A regenerated key therefore fails on the next call, whichever process regenerated the key.
 */
export function createAuthenticator(context: Context) {
  const cache = new Map<string, Entry>();
  /** The loads in progress, by the end of the audit and key: calls of one tick that use the same key share one load. */
  const loading = new Map<string, Promise<Entry>>();

  function loadOnce(keyHash: Uint8Array, now: Instant): Promise<Entry> {
    const name = `${context.follower.known().sequence} ${nameOf(keyHash)}`;
    const shared = loading.get(name) ?? load(context, keyHash, now).finally(() => loading.delete(name));
    loading.set(name, shared);
    return shared;
  }

  /** Returns the identity of an entry. Throws `unauthenticated` if its key or its application has ended. */
  function live({ identity, expires_at }: Entry): Identity {
    const { key } = identity;
    const end = Math.min(key.expires_at ?? NEVER, expires_at ?? NEVER);
    const isWrong = expires_at !== undefined && expires_at > latestEnd(context.clock.now());
    if (isWrong || (end < NEVER && end <= context.clock.cutoff())) throw new Problem('unauthenticated');
    context.activity.noteKey(key);
    return identity;
  }

  /**
   * Returns the cached identity of a key, which a tick looks up once. Throws `unauthenticated` if the key has ended.
   */
  function cached(apiKey: string): Identity | undefined {
    const { now: tick } = context.ticks;
    const known = tick?.known.get(apiKey);
    if (known !== undefined) return known;
    const name = nameOf(context.keyring.apiKeyHash(apiKey));
    const entry = cache.get(name);
    if (entry === undefined || !context.follower.isUnchanged(entry.stamp)) {
      cache.delete(name);
      return undefined;
    }
    const identity = live(entry);
    tick?.known.set(apiKey, identity);
    return identity;
  }

  return {
    /** Returns the identity of a key. Fails with `unauthenticated`, or with the store's problems. */
    *identify(apiKey: string | undefined): Steps<Identity> {
      if (!hasApiKeyFormat(apiKey)) throw new Problem('unauthenticated');
      // A tick has followed the audit.
      if (context.ticks.now === undefined) yield* settled(context.follower.follow());
      const known = cached(apiKey);
      if (known !== undefined) return known;
      if (!isApiKey(apiKey)) throw new Problem('unauthenticated');
      const keyHash = context.keyring.apiKeyHash(apiKey);
      const entry = yield* settled(loadOnce(keyHash, context.clock.cutoff()));
      if (cache.size >= MAX_CACHED) cache.clear();
      cache.set(nameOf(keyHash), entry);
      return live(entry);
    },

    /** Returns the account of a cached key in a tick; empty for every other key. */
    accountOf(apiKey: string | undefined): string {
      try {
        return hasApiKeyFormat(apiKey) ? (cached(apiKey)?.account ?? '') : '';
      } catch {
        return '';
      }
    },
  };
}

function nameOf(keyHash: Uint8Array): string {
  return Buffer.from(keyHash).toString('latin1');
}

async function load(context: Context, keyHash: Uint8Array, now: Instant): Promise<Entry> {
  const { sequence } = context.follower.known();
  const authority = await context.store.findAuthority(keyHash, now);
  if (!authority) throw new Problem('unauthenticated');
  const keyring = context.keyring.openTenant(authority.tenant.id, authority.keys);
  const tenant = openTenant(keyring, authority.application.tenant_id, authority.tenant);
  const application = openApplication(keyring, authority.application.id, authority.application);
  const { key } = authority;
  const isOwn = key.application_id === application.record.id && Buffer.from(key.hash).equals(keyHash);
  if (!isOwn || isReplaced(keyring, key, application.details.keys_from)) throw new Problem('integrity_failure');
  const { id: tenant_id } = tenant.record;
  const keys = authority.keys.map(({ key_id }) => key_id);
  await requireCurrent(context, 'tenant', { ...tenant.record, tenant_id, keys });
  await requireCurrent(context, 'application', application.record);
  await requireCurrent(context, 'application_key', key);
  const parent = await parentOf(context, application.record, keyring, now);
  const minting = parent ? await mintingKeyOf(context, application.record, parent, keyring, now) : [];
  const within = parent && grantsOf(parent);
  const grants = createGrants(application.details, within);
  const applications = [application.record, ...(parent ? [parent.record] : [])];
  const stamp = context.follower.stampOf(tenant_id, sequence, [
    ...applications.map(({ id, revision }) => ({ table: 'application' as const, id, revision })),
    ...[key, ...minting].map(({ id, revision }) => ({ table: 'application_key' as const, id, revision })),
  ]);
  return {
    identity: { application, key, tenant, grants, account: accountOf(application.record) },
    stamp,
    expires_at: application.record.expires_at,
  };
}

/** Rejects with `write_conflict` when the record has changed since it was read; the call is then repeated. */
async function requireCurrent(
  { follower }: Context,
  ...read: Parameters<Context['follower']['isCurrent']>
): Promise<void> {
  if (!(await follower.isCurrent(...read))) throw new Problem('write_conflict');
}

/**
 * Resolves to the key with which `parent` created an expiring application. Rejects with `unauthenticated` when
 * the key has ended: the application ended with it.
 */
async function mintingKeyOf(
  { store, follower }: Context,
  { parent_key_id, tenant_id }: ApplicationRecord,
  { record, details }: OpenedApplication,
  keyring: TenantKeyring,
  now: Instant,
) {
  const key = parent_key_id === undefined ? undefined : await store.findApplicationKey(tenant_id, parent_key_id);
  const isGone =
    key?.application_id !== record.id || isExpired(key, now) || isReplaced(keyring, key, details.keys_from);
  if (isGone || !(await follower.isCurrent('application_key', key))) throw new Problem('unauthenticated');
  return [key];
}

/** Resolves to the creator of an expiring application. Rejects with `unauthenticated` when it no longer exists. */
async function parentOf(
  context: Context,
  { parent_id, tenant_id }: ApplicationRecord,
  keyring: TenantKeyring,
  now: Instant,
): Promise<OpenedApplication | undefined> {
  if (parent_id === undefined) return undefined;
  const parent = await context.store.findApplication(tenant_id, parent_id, now);
  if (!parent) throw new Problem('unauthenticated');
  await requireCurrent(context, 'application', parent);
  return openApplication(keyring, parent.id, parent);
}

/**
 * Resolves to the grants of the private application that created an expiring application; to undefined for other
 * applications. A management application grants permissions that it does not hold, so its own do not limit. Rejects
 * with `unauthenticated` when the creator no longer exists.
 */
export async function parentGrants(context: Context, child: ApplicationRecord, keyring: TenantKeyring, now: Instant) {
  const parent = await parentOf(context, child, keyring, now);
  return parent && grantsOf(parent);
}

function grantsOf({ record, details }: OpenedApplication) {
  return record.type === 'management' ? undefined : createGrants(details);
}

/**
 * Returns the account of an application. The limits of one caller apply to its account. An expiring application counts
 * with its creator, because a private application can create any number of expiring ones.
 */
function accountOf({ id, type, parent_id, created_by }: ApplicationRecord): string {
  return type === 'expiring' ? (parent_id ?? created_by ?? id) : id;
}
