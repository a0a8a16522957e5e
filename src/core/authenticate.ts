import { createGrants } from './access/grants.ts';
import { hasApiKeyFormat, isApiKey } from './applications/api-key.ts';
import { openApplication } from './applications/application-codec.ts';
import { latestEnd } from './applications/latest-end.ts';
import { requireAudited } from './audit/last-change.ts';
import type { Identity, World } from './handler.ts';
import type { ApplicationRecord, Instant, TenantKeyring } from './ports.ts';
import { Problem } from './problem.ts';
import { openTenant } from './tenants/tenant-codec.ts';

const MAX_CACHED = 10_000;

interface Entry {
  readonly identity: Identity;
  /** The end of an expiring application. */
  readonly expires_at: Instant | undefined;
}

/**
 * Creates step 1 of each call: the API key identifies the application and, through the application, the tenant (§5).
 * Every invalid key gets the same 401. Identities are cached until the store reports a change of authority. A
 * regenerated key therefore fails on the next call, whichever process regenerated the key.
 */
export function createAuthenticator(world: World) {
  const cache = new Map<string, Entry>();
  /** The loads in progress, by version and key: calls of one turn that use the same key share one load. */
  const loading = new Map<string, Promise<Entry>>();
  let version = '';

  function loadOnce(keyHash: Uint8Array, current: string, now: Instant): Promise<Entry> {
    const name = `${current} ${nameOf(keyHash)}`;
    const shared = loading.get(name) ?? load(world, keyHash, now).finally(() => loading.delete(name));
    loading.set(name, shared);
    return shared;
  }

  function find(keyHash: Uint8Array, current: string): Entry | undefined {
    if (current !== version || cache.size >= MAX_CACHED) {
      cache.clear();
      version = current;
    }
    return cache.get(nameOf(keyHash));
  }

  function hasEnded({ expires_at }: Entry): boolean {
    if (expires_at === undefined) return false;
    return expires_at <= world.clock.cutoff() || expires_at > latestEnd(world.clock.now());
  }

  return {
    /** Resolves to the identity of a key. Rejects with `unauthenticated`, or with the store's problems. */
    async identify(apiKey: string | undefined): Promise<Identity> {
      if (!hasApiKeyFormat(apiKey)) throw new Problem('unauthenticated');
      const keyHash = world.keyring.apiKeyHash(apiKey);
      const current = await world.store.authorityVersion();
      let entry = find(keyHash, current);
      if (!entry) {
        if (!isApiKey(apiKey)) throw new Problem('unauthenticated');
        entry = await loadOnce(keyHash, current, world.clock.cutoff());
        // If the authority changes between the two reads, the entry is cached under the older version, so the next call
        // loads the key again.
        if (version === current) cache.set(nameOf(keyHash), entry);
      }
      if (hasEnded(entry)) throw new Problem('unauthenticated');
      return entry.identity;
    },

    /**
     * Returns the cached identity of a key, or the problem `unauthenticated` for a malformed or expired key. Returns
     * undefined for a key that is not cached. `current` is the store's current version.
     */
    known(apiKey: string | undefined, current: string): Identity | Problem | undefined {
      if (!hasApiKeyFormat(apiKey)) return new Problem('unauthenticated');
      const entry = find(world.keyring.apiKeyHash(apiKey), current);
      if (entry === undefined || !hasEnded(entry)) return entry?.identity;
      return new Problem('unauthenticated');
    },
  };
}

function nameOf(keyHash: Uint8Array): string {
  return Buffer.from(keyHash).toString('latin1');
}

async function load(world: World, keyHash: Uint8Array, now: Instant): Promise<Entry> {
  const authority = await world.store.findAuthority(keyHash, now);
  if (!authority) throw new Problem('unauthenticated');
  const keyring = world.keyring.openTenant(authority.tenant.id, authority.keys);
  const tenant = openTenant(keyring, authority.application.tenant_id, authority.tenant);
  const application = openApplication(keyring, authority.application.id, authority.application);
  if (!Buffer.from(application.record.key_hash).equals(keyHash)) throw new Problem('integrity_failure');
  await requireAudited(world, 'tenant', { ...tenant.record, tenant_id: tenant.record.id });
  await requireAudited(world, 'application', application.record);
  const within = await parentGrants(world, application.record, tenant.keyring, now);
  const grants = createGrants(application.details, within);
  return { identity: { application, tenant, grants }, expires_at: application.record.expires_at };
}

/**
 * Resolves to the grants of the private application that created an expiring application; to undefined for other
 * applications. A management application grants permissions that it does not hold, so its own do not limit. Rejects
 * with `unauthenticated` when the creator no longer exists.
 */
export async function parentGrants(world: World, child: ApplicationRecord, keyring: TenantKeyring, now: Instant) {
  const { parent_id, tenant_id } = child;
  if (parent_id === undefined) return undefined;
  const record = await world.store.findApplication(tenant_id, parent_id, now);
  if (!record) throw new Problem('unauthenticated');
  await requireAudited(world, 'application', record);
  const { details } = openApplication(keyring, parent_id, record);
  return record.type === 'management' ? undefined : createGrants(details);
}
