import { beforeAll, describe, expect, test } from 'vitest';
import type { SealContext, WrappedKey } from '../../src/core/ports.ts';
import { openKeyring } from '../../src/keyring/keyring.ts';
import { loadSodium, type Sodium } from '../../src/keyring/sodium.ts';
import { deriveFromMaster, INDEX_SUB_KEYS, MASTER_SUB_KEYS } from '../../src/keyring/sub-keys.ts';
import { tenantKeyBytes, tenantKeyWrapper } from '../../src/keyring/tenant-keyring.ts';

const VAULT = { vault_id: '7d3c1c0a-5a3c-4f0e-9a53-1f6f0b8a2c11', format: 1, generation: 1 };
const MASTER = new Uint8Array(32).fill(9);
const CONTEXT: SealContext = { table: 'token', id: 'id', column: 'data', revision: 1, clear: [] };

let sodium: Sodium;
let wrap: (key_id: number, purpose: WrappedKey['purpose'], vault?: typeof VAULT) => WrappedKey;
beforeAll(async () => {
  sodium = await loadSodium();
  const wrappingKey = deriveFromMaster(sodium, MASTER, 'tenant_key_wrapping');
  wrap = (key_id, purpose, vault = VAULT) =>
    tenantKeyWrapper(sodium, wrappingKey, vault).create('tenant', { key_id, purpose, created_at: 0 });
});

function keyIdOf(sealed: Uint8Array): number {
  return new DataView(sealed.buffer, sealed.byteOffset).getUint32(1);
}

describe('a tenant with several keys', () => {
  test('seals with the newest data key and opens with every listed one, in any order', () => {
    const keyring = openKeyring(sodium, VAULT, MASTER);
    const [one, index, three, far] = [wrap(1, 'data'), wrap(2, 'index'), wrap(3, 'data'), wrap(0xffff_fffe, 'data')];
    const first = keyring.openTenant('tenant', [one, index]);
    const second = keyring.openTenant('tenant', [three, one, index]);
    const third = keyring.openTenant('tenant', [index, far, three]);
    const [sealed1, sealed3, sealedFar] = [first, second, third].map((tenant) => tenant.seal(CONTEXT, 'value'));
    if (sealed1 === undefined || sealed3 === undefined || sealedFar === undefined) throw new Error('unreachable');
    expect([sealed1, sealed3, sealedFar].map(keyIdOf)).toEqual([1, 3, 0xffff_fffe]);
    expect(second.open(CONTEXT, sealed1)).toBe('value');
    expect(third.open(CONTEXT, sealed3)).toBe('value');
    expect(third.open(CONTEXT, sealedFar)).toBe('value');
    // The third list no longer has key 1, and the first has no key 3 yet.
    expect(() => third.open(CONTEXT, sealed1)).toThrow('integrity_failure');
    expect(() => first.open(CONTEXT, sealed3)).toThrow('integrity_failure');
  });

  test('indexes with the newest index key', () => {
    const keyring = openKeyring(sodium, VAULT, MASTER);
    const [data, old, fresh] = [wrap(1, 'data'), wrap(2, 'index'), wrap(4, 'index')];
    const fingerprint = (keys: readonly WrappedKey[]) =>
      keyring.openTenant('tenant', keys).fingerprint('card', 'data', 'value');
    expect(fingerprint([fresh, data, old])).toBe(fingerprint([data, fresh]));
    expect(fingerprint([fresh, data, old])).not.toBe(fingerprint([data, old]));
  });

  test('rejects a key that an earlier master key wrapped', () => {
    const keyring = openKeyring(sodium, { ...VAULT, generation: 2 }, MASTER);
    expect(() => keyring.openTenant('tenant', [wrap(1, 'data'), wrap(2, 'index')])).toThrow('integrity_failure');
  });
});

test('the keys of a tenant differ', () => {
  const wrappingKey = deriveFromMaster(sodium, MASTER, 'tenant_key_wrapping');
  const { open } = tenantKeyWrapper(sodium, wrappingKey, VAULT);
  const keys = open('tenant', [wrap(1, 'data'), wrap(2, 'index')]);
  const all = tenantKeyBytes(keys).map((key) => Buffer.from(key).toString('hex'));
  expect(all).toHaveLength(1 + Object.keys(INDEX_SUB_KEYS).length);
  expect(new Set(all).size).toBe(all.length);
});

test('every sub-key has an id of its own', () => {
  for (const table of [MASTER_SUB_KEYS, INDEX_SUB_KEYS]) {
    const ids = Object.values(table);
    expect(new Set<number>(ids).size).toBe(ids.length);
  }
  const keys = (Object.keys(MASTER_SUB_KEYS) as (keyof typeof MASTER_SUB_KEYS)[]).map((name) =>
    Buffer.from(deriveFromMaster(sodium, MASTER, name)).toString('hex'),
  );
  expect(new Set(keys).size).toBe(keys.length);
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
