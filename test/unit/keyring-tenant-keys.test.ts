import { beforeAll, describe, expect, test } from 'vitest';
import type { WrappedKey } from '../../src/core/ports.ts';
import { openKeyring } from '../../src/keyring/keyring.ts';
import { loadSodium, type Sodium } from '../../src/keyring/sodium.ts';
import { deriveFromMaster, INDEX_SUB_KEYS } from '../../src/keyring/sub-keys.ts';
import { tenantKeyWrapper } from '../../src/keyring/tenant-keyring.ts';

const VAULT = { vault_id: '7d3c1c0a-5a3c-4f0e-9a53-1f6f0b8a2c11', format: 1, generation: 1 };
const MASTER = new Uint8Array(32).fill(9);

let sodium: Sodium;
let wrap: (key_id: number, purpose: WrappedKey['purpose']) => WrappedKey;
beforeAll(async () => {
  sodium = await loadSodium();
  const wrappingKey = deriveFromMaster(sodium, MASTER, 'tenant_key_wrapping');
  wrap = (key_id, purpose) =>
    tenantKeyWrapper(sodium, wrappingKey, VAULT).create('tenant', { key_id, purpose, created_at: 0 });
});

describe('close', () => {
  /** Returns a libsodium and the keys that it has created. */
  function watched(): { readonly watching: Sodium; readonly keys: Uint8Array[] } {
    const keys: Uint8Array[] = [];
    const watch = (made: unknown) => {
      if (made instanceof Uint8Array && made.length === MASTER.length) keys.push(made);
      return made;
    };
    const get = (from: object, name: string) => {
      const found: unknown = Reflect.get(from, name);
      return typeof found === 'function' ? (...values: unknown[]) => watch(found(...values)) : found;
    };
    return { watching: new Proxy({ ...sodium }, { get }) as Sodium, keys };
  }
  const isWiped = (key: Uint8Array) => key.every((byte) => byte === 0);

  test('wipes the keys of the vault and of every tenant', () => {
    const { watching, keys } = watched();
    const keyring = openKeyring(watching, VAULT, MASTER);
    const ofVault = keys.length;
    keyring.openTenant('tenant', [wrap(1, 'data'), wrap(2, 'index')]);
    keyring.openTenant('tenant', [wrap(3, 'data'), wrap(4, 'index')]);
    const live = keys.filter((key) => !isWiped(key));
    expect(ofVault).toBeGreaterThan(3);
    // Each tenant has a data key and the sub-keys of its index key.
    expect(live.length).toBe(ofVault + 2 * (1 + Object.keys(INDEX_SUB_KEYS).length));
    keyring.close();
    expect(live.filter((key) => !isWiped(key))).toEqual([]);
  });
});
