import type { Instant, Keyring, WrappedKey } from '../src/core/ports.ts';

/** One data key and one index key, as a new tenant has them. */
export function createTenantKeys(keyring: Keyring, tenantId: string, now: Instant): readonly WrappedKey[] {
  const data = keyring.createTenantKey(tenantId, 'data', [], now);
  return [data, keyring.createTenantKey(tenantId, 'index', [data], now)];
}
