import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { beforeAll, describe, expect, it, test } from 'vitest';
import type { Keyring, SealContext, VaultHeader, WrappedKey } from '../../src/core/ports.ts';
import type { Credential } from '../../src/keyring/credential.ts';
import { openText, paddedLength, sealEnvelope, unpadText } from '../../src/keyring/envelope.ts';
import { encodeFields, FieldEncoder } from '../../src/keyring/field-encoder.ts';
import { openKeyring } from '../../src/keyring/keyring.ts';
import {
  createKeyring,
  findSlot,
  followMasterKey,
  unlockKeyring,
  unlockMasterKey,
} from '../../src/keyring/master-key.ts';
import { replaceMasterKey } from '../../src/keyring/replace-master-key.ts';
import { addSlot, listSlots } from '../../src/keyring/slots.ts';
import { loadSodium, type Sodium, sodiumVersion } from '../../src/keyring/sodium.ts';
import { deriveFromMaster, INDEX_SUB_KEYS } from '../../src/keyring/sub-keys.ts';
import { Lock, tenantKeyring, tenantKeyWrapper } from '../../src/keyring/tenant-keyring.ts';
import { createTenantKeys } from '../tenant-keys.ts';

const NOW = 1_700_000_000_000;
const TENANT = '1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed';
const CONTEXT: SealContext = { table: 'token', id: 'id', column: 'data', revision: 1, clear: [] };
const ONE: Credential = { kind: 'key_file', key: new Uint8Array(32).fill(1) };
const TWO: Credential = { kind: 'key_file', key: new Uint8Array(32).fill(2) };

describe('a new master key', () => {
  let header: VaultHeader;
  let old: Keyring;
  let keys: readonly WrappedKey[];
  let next: Awaited<ReturnType<typeof replaceMasterKey>>;

  beforeAll(async () => {
    const made = await createKeyring(ONE, { now: NOW });
    old = made.keyring;
    header = await addSlot(made.header, await unlockMasterKey(made.header, ONE), TWO, { now: NOW, label: 'two' });
    keys = createTenantKeys(old, TENANT, NOW);
    next = await replaceMasterKey(header, TWO, [{ tenant_id: TENANT, keys }], NOW + 5);
  });

  test('has the next generation and opens only with the given credential', async () => {
    expect(next.header).toMatchObject({ vault_id: header.vault_id, generation: 2, created_at: header.created_at });
    expect(listSlots(next.header)).toEqual([{ slot: 1, kind: 'key_file', created_at: NOW + 5, label: 'two' }]);
    await expect(unlockKeyring(next.header, ONE)).rejects.toMatchObject({ code: 'wrong_credential' });
    expect(await unlockMasterKey(next.header, TWO)).not.toEqual(await unlockMasterKey(header, TWO));
  });

  test('opens earlier values and keeps API keys, anchors and fingerprints', async () => {
    const keyring = await unlockKeyring(next.header, TWO);
    const [moved] = next.tenants;
    if (moved === undefined) throw new Error('unreachable');
    const before = old.openTenant(TENANT, keys);
    const after = keyring.openTenant(TENANT, moved.keys);
    expect(after.open(CONTEXT, before.seal(CONTEXT, 'value'))).toBe('value');
    expect(after.fingerprint('card', 'data', 'value')).toBe(before.fingerprint('card', 'data', 'value'));
    expect(keyring.apiKeyHash('key_x')).toEqual(old.apiKeyHash('key_x'));
    expect(keyring.anchorMac('text')).toEqual(old.anchorMac('text'));
    expect(keyring.anchorMac('text')).not.toEqual(keyring.anchorMac('texts'));
    expect(keyring.anchorMac('text')).not.toEqual(keyring.apiKeyHash('text'));
    expect(moved.keys.map(({ generation }) => generation)).toEqual([2, 2]);
    keyring.close();
  });

  test('locks a keyring whose credential it does not keep, until a header keeps it again', async () => {
    let found = header;
    const keyring = await followMasterKey(header, ONE, async () => found);
    await keyring.requireKey();
    found = next.header;
    await expect(keyring.requireKey()).rejects.toMatchObject({ code: 'vault_locked' });
    found = { ...next.header, mac: new Uint8Array(32), slots: [] };
    const refused = await Promise.allSettled([keyring.requireKey(), keyring.requireKey()]);
    expect(refused.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    found = header;
    await keyring.requireKey();
    const base = { sequence: 1, at: NOW, link: new Uint8Array(32) };
    const event = keyring.sealAuditEvent(NOW, 'text');
    expect(() => keyring.openAuditBase({ ...base, sealed: event })).toThrow('integrity_failure');
    keyring.close();
  });

  test('rejects earlier wrappings, altered carried keys and mixed headers', async () => {
    const keyring = await unlockKeyring(next.header, TWO);
    expect(() => keyring.openTenant(TENANT, keys)).toThrow('integrity_failure');
    expect(() => old.openTenant(TENANT, next.tenants[0]?.keys ?? [])).toThrow('integrity_failure');
    const relabelled = keys.map((key) => ({ ...key, generation: 2 }));
    expect(() => keyring.openTenant(TENANT, relabelled)).toThrow('integrity_failure');
    keyring.close();
    const { carried = new Uint8Array(0), ...without } = next.header;
    const flipped = carried.map((byte, at) => (at === 40 ? byte ^ 1 : byte));
    for (const altered of [without, { ...next.header, carried: flipped }, { ...header, carried }]) {
      await expect(unlockKeyring(altered, TWO)).rejects.toMatchObject({ code: 'damaged' });
    }
  });

  test('is not created from keys that do not unwrap', async () => {
    const altered = keys.map((key) => ({ ...key, key_id: key.key_id + 1 }));
    const replaced = replaceMasterKey(header, TWO, [{ tenant_id: TENANT, keys: altered }], NOW);
    await expect(replaced).rejects.toMatchObject({ code: 'integrity_failure' });
  });

  test('is followed by a keyring that keeps its credential; other keyrings are locked', async () => {
    let stored = header;
    const reads = async () => stored;
    const [one, two] = [await followMasterKey(header, ONE, reads), await followMasterKey(header, TWO, reads)];
    await two.refresh();
    const opened = two.openTenant(TENANT, keys);
    stored = next.header;
    const moved = next.tenants[0]?.keys ?? [];
    expect(() => two.openTenant(TENANT, moved)).toThrow('integrity_failure');
    await Promise.all([two.refresh(), two.refresh()]);
    expect(two.openTenant(TENANT, moved).open(CONTEXT, opened.seal(CONTEXT, 'value'))).toBe('value');
    expect(createTenantKeys(two, TENANT, NOW)[0]?.generation).toBe(2);
    await expect(one.refresh()).rejects.toMatchObject({ code: 'vault_locked' });
    two.close();
    expect(() => opened.seal(CONTEXT, 'value')).toThrow('vault_locked');
    one.close();
  });
});

test('a new tenant key has a larger id, and the newest of each purpose is used', async () => {
  const { keyring } = await createKeyring(ONE, { now: NOW });
  const keys = createTenantKeys(keyring, TENANT, NOW);
  const data = keyring.createTenantKey(TENANT, 'data', keys, NOW + 1);
  const index = keyring.createTenantKey(TENANT, 'index', [...keys, data], NOW + 2);
  expect([data, index].map(({ key_id, purpose }) => [key_id, purpose])).toEqual([
    [3, 'data'],
    [4, 'index'],
  ]);
  const before = keyring.openTenant(TENANT, keys);
  const after = keyring.openTenant(TENANT, [index, data, ...keys]);
  expect(before.keyIds).toEqual({ key_id: 1, index_key_id: 2 });
  expect(after.keyIds).toEqual({ key_id: 3, index_key_id: 4 });
  expect(after.open(CONTEXT, before.seal(CONTEXT, 'value'))).toBe('value');
  expect(() => before.open(CONTEXT, after.seal(CONTEXT, 'value'))).toThrow('integrity_failure');
  const [former] = after.formerIndexKeys;
  expect(former?.key_id).toBe(2);
  expect(former?.fingerprint('card', 'data', 'v')).toBe(before.fingerprint('card', 'data', 'v'));
  expect(former?.blindIndex('search', 'v')).toEqual(before.blindIndex('search', 'v'));
  expect(after.blindIndex('search', 'v')).not.toEqual(before.blindIndex('search', 'v'));
  keyring.close();
  expect(() => former?.blindIndex('search', 'v')).toThrow('vault_locked');
});

const KEY = new Uint8Array(32).fill(3);
const BYTES = new Uint8Array(8);
const CREDENTIAL: Credential = { kind: 'key_file', key: KEY };
let sodium: Sodium;
let keyring: Keyring;
let header: VaultHeader;
let damaged: VaultHeader;

beforeAll(async () => {
  sodium = await loadSodium();
  ({ keyring, header } = await createKeyring(CREDENTIAL, { now: NOW }));
  damaged = { ...header, mac: header.mac.map((byte) => byte ^ 1) };
});

describe('the keyring refuses', () => {
  it('a text whose padding has no marker', () => {
    const sealed = sealEnvelope(sodium, KEY, 1, BYTES, new Uint8Array(64));
    expect(() => openText(sodium, KEY, 1, BYTES, sealed)).toThrow('integrity_failure');
  });

  it('an entry of the audit that names another key', () => {
    const sealed = keyring.sealAuditEvent(NOW, 'text');
    expect(keyring.openAuditEvent(NOW, sealed)).toBe('text');
    sealed[4] = 2;
    expect(() => keyring.openAuditEvent(NOW, sealed)).toThrow('integrity_failure');
  });

  it('a tenant without an index key', () => {
    const keys = { data: new Map([[1, KEY]]), sealing: 1, index: [] };
    expect(() => tenantKeyring(sodium, header, 'tenant', keys, new Lock())).toThrow('integrity_failure');
  });

  it('a search for a slot in an altered header', async () => {
    expect(await findSlot(header, CREDENTIAL)).toBe(0);
    await expect(findSlot(damaged, CREDENTIAL)).rejects.toMatchObject({ code: 'damaged' });
  });

  it('an altered header when it follows a master key', async () => {
    const following = await followMasterKey(header, CREDENTIAL, async () => ({ ...damaged, generation: 2 }));
    await expect(following.refresh()).rejects.toMatchObject({ code: 'integrity_failure' });
    following.close();
  });

  it('an unreadable header when it follows a master key', async () => {
    const broken = new TypeError('broken');
    const slots = {
      get slots(): never {
        throw broken;
      },
    };
    const read = async () => Object.assign(Object.create(slots), { generation: 2 });
    const following = await followMasterKey(header, CREDENTIAL, read);
    await expect(following.refresh()).rejects.toBe(broken);
    following.close();
  });
});

it('the version of libsodium is known', async () => expect(await sodiumVersion()).toMatch(/^\d+\.\d+\.\d+$/));
const VAULT = { vault_id: '7d3c1c0a-5a3c-4f0e-9a53-1f6f0b8a2c11', format: 1, generation: 1 };
const MASTER = new Uint8Array(32).fill(9);
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

describe('the padded length', () => {
  test.each([
    [1, 64],
    [64, 64],
    [65, 128],
    [1000, 1024],
    [1024, 1024],
    [1025, 1088],
    [2047, 2048],
    // Padmé by hand: 5000 has 13 bits, so E = 12 and S = 4, and the last 8 bits are zero.
    [5000, 5120],
    [1_000_000, 1_015_808],
    [2 ** 31 + 1, 2 ** 31 + 2 ** 26],
  ])('of %i is %i', (length, padded) => {
    expect(paddedLength(length)).toBe(padded);
  });
});

describe('padding', () => {
  const unpad = (length: number, ...start: readonly number[]) => {
    const bytes = Buffer.alloc(length);
    bytes.set(start);
    return unpadText(bytes);
  };

  test('is removed only when it is complete', () => {
    expect(unpad(64, 0x61, 0x80)).toBe('a');
    expect(unpad(64, 0x80)).toBe('');
    expect(unpad(64, 0x61, 0x00, 0x80)).toBe('a\0');
    expect(unpad(0)).toBeUndefined();
    expect(unpad(64)).toBeUndefined();
    expect(unpad(64, 0x61)).toBeUndefined();
    expect(unpad(64, 0x61, 0x82)).toBeUndefined();
    expect(unpad(64, 0x61, 0x81)).toBeUndefined();
    expect(unpad(63, 0x61, 0x80)).toBeUndefined();
    expect(unpad(128, 0x61, 0x80)).toBeUndefined();
  });
});

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

describe('fields', () => {
  test.each(['secret', 'sécret', '\u20ac'.repeat(200)])('leave no byte behind when they are wiped: %j', (text) => {
    const encoder = new FieldEncoder();
    const memory = new Uint8Array(encoder.encode(text).buffer);
    expect(memory.some((byte) => byte !== 0)).toBe(true);
    encoder.wipe();
    expect(memory.some((byte) => byte !== 0)).toBe(false);
  });

  test('give the same bytes only for the same sequence', () => {
    const field = fc.oneof(
      fc.constant(undefined),
      fc.string({ unit: 'binary', maxLength: 3 }),
      fc.constantFrom('\0', '\0\0', '\u0000\u0000\u0000\u0000\u0001', '\ud800', 'é'),
      fc.double(),
      fc.uint8Array({ maxLength: 3 }),
    );
    const fields = fc.array(field, { maxLength: 4 });
    fc.assert(
      fc.property(fields, fields, (one, other) => {
        expect(hex(encodeFields(...one)) === hex(encodeFields(...other))).toBe(isDeepStrictEqual(one, other));
      }),
      { numRuns: 2000 },
    );
  });
});
