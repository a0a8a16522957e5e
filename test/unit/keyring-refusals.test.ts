import { beforeAll, describe, expect, it } from 'vitest';
import type { Keyring, VaultHeader } from '../../src/core/ports.ts';
import type { Credential } from '../../src/keyring/credential.ts';
import { openText, sealEnvelope } from '../../src/keyring/envelope.ts';
import { createKeyring, findSlot, followMasterKey } from '../../src/keyring/master-key.ts';
import { loadSodium, type Sodium, sodiumVersion } from '../../src/keyring/sodium.ts';
import { Lock, tenantKeyring } from '../../src/keyring/tenant-keyring.ts';

const KEY = new Uint8Array(32).fill(3);
const CONTEXT = new Uint8Array(8);
const CREDENTIAL: Credential = { kind: 'key_file', key: KEY };
const NOW = 1_700_000_000_000;

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
    const sealed = sealEnvelope(sodium, KEY, 1, CONTEXT, new Uint8Array(64));
    expect(() => openText(sodium, KEY, 1, CONTEXT, sealed)).toThrow('integrity_failure');
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
