import type { Instant, Keyring, WrappedKey } from '../src/core/ports.ts';

/** Creates one data key and one index key, like a new tenant. */
export function createTenantKeys(keyring: Keyring, tenantId: string, now: Instant): readonly WrappedKey[] {
  const data = keyring.createTenantKey(tenantId, 'data', [], now);
  return [data, keyring.createTenantKey(tenantId, 'index', [data], now)];
}
