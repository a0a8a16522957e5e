import { beforeAll, describe, expect, test } from 'vitest';
import type { Keyring, SealContext, VaultHeader, WrappedKey } from '../../src/core/ports.ts';
import type { Credential } from '../../src/keyring/credential.ts';
import { createKeyring, followMasterKey, unlockKeyring, unlockMasterKey } from '../../src/keyring/master-key.ts';
import { replaceMasterKey } from '../../src/keyring/replace-master-key.ts';
import { addSlot, listSlots } from '../../src/keyring/slots.ts';
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
