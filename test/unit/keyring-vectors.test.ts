import { readFileSync } from 'node:fs';
import wrappers from 'libsodium-wrappers';
import { beforeAll, describe, expect, test } from 'vitest';
import type { FingerprintSource, IndexPurpose, SealContext } from '../../src/core/ports.ts';
import { openEnvelope, sealEnvelope } from '../../src/keyring/envelope.ts';
import { unlockKeyring, unlockMasterKey } from '../../src/keyring/master-key.ts';
import { listSlots } from '../../src/keyring/slots.ts';
import { loadSodium, type Sodium } from '../../src/keyring/sodium.ts';
import { deriveIndexKeys } from '../../src/keyring/sub-keys.ts';
import { Lock, tenantKeyring } from '../../src/keyring/tenant-keyring.ts';

function vectors<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`../vectors/${name}.json`, import.meta.url), 'utf8')) as T;
}

const bytes = (hex: string) => new Uint8Array(Buffer.from(hex, 'hex'));
const hex = (data: Uint8Array) => Buffer.from(data).toString('hex');

const VAULT = { vault_id: '7d3c1c0a-5a3c-4f0e-9a53-1f6f0b8a2c11', format: 1, generation: 1 };
const UNLOCKED = new Lock();

let sodium: Sodium;
beforeAll(async () => {
  [sodium] = await Promise.all([loadSodium(), wrappers.ready]);
});

describe('XChaCha20-Poly1305', () => {
  const vector = vectors<Record<'key' | 'nonce' | 'aad' | 'plaintext' | 'ciphertext' | 'tag', string>>('xchacha');

  const { key, nonce, aad, plaintext, ciphertext, tag } = vector;

  test('matches draft-irtf-cfrg-xchacha, appendix A.3.1', () => {
    const [text, context, nonceBytes] = [bytes(plaintext), bytes(aad), bytes(nonce)];
    const sealed = wrappers.crypto_aead_xchacha20poly1305_ietf_encrypt(text, context, null, nonceBytes, bytes(key));
    expect(hex(sealed)).toBe(ciphertext + tag);
  });

  test('seals the same bytes as the libsodium wrappers', () => {
    for (const length of [0, 1, 64, 1000, 70_000]) {
      const text = new Uint8Array(length).fill(0x61);
      const envelope = sealEnvelope(sodium, bytes(key), 7, bytes(aad), text);
      const own = envelope.subarray(5, 29);
      const sealed = wrappers.crypto_aead_xchacha20poly1305_ietf_encrypt(text, bytes(aad), null, own, bytes(key));
      expect(hex(envelope.subarray(29))).toBe(hex(sealed));
      expect(hex(openEnvelope(sodium, bytes(key), 7, bytes(aad), envelope))).toBe(hex(text));
    }
  });

  test('is at the documented place in the envelope', () => {
    const envelope = bytes(`0100000007${vector.nonce}${vector.ciphertext}${vector.tag}`);
    expect(hex(openEnvelope(sodium, bytes(vector.key), 7, bytes(vector.aad), envelope))).toBe(vector.plaintext);
  });
});

interface Envelopes {
  readonly vault_id: string;
  readonly format: number;
  readonly generation: number;
  readonly tenant_id: string;
  readonly keys: Readonly<Record<string, string>>;
  readonly cases: readonly {
    readonly context: Omit<SealContext, 'clear'> & { readonly clear: readonly (string | number | null)[] };
    readonly plaintext: string;
    readonly sealed: string;
  }[];
}

describe('sealed values', () => {
  const { keys, cases, tenant_id, ...vault } = vectors<Envelopes>('envelope');
  const opens = (sealing: number) =>
    tenantKeyring(
      sodium,
      vault,
      tenant_id,
      {
        data: new Map(Object.entries(keys).map(([id, key]) => [Number(id), bytes(key)])),
        sealing,
        index: [{ key_id: 1, keys: deriveIndexKeys(sodium, new Uint8Array(32)) }],
      },
      UNLOCKED,
    );

  test.each(cases)('of $context.table $context.column open', ({ context, plaintext, sealed }) => {
    const seal: SealContext = { ...context, clear: context.clear.map((value) => value ?? undefined) };
    expect(opens(3).open(seal, bytes(sealed))).toBe(plaintext);
    // A newly sealed value has the size, suite and key id of the vector, but its own nonce.
    const keyId = Number.parseInt(sealed.slice(2, 10), 16);
    const own = hex(opens(keyId).seal(seal, plaintext));
    expect(own.length).toBe(sealed.length);
    expect(own.slice(0, 10)).toBe(sealed.slice(0, 10));
  });
});

interface Fingerprints {
  readonly index_key: string;
  readonly cases: readonly {
    readonly type: string;
    readonly source: FingerprintSource;
    readonly text: string;
    readonly fingerprint: string;
  }[];
}

interface BlindIndexes {
  readonly index_key: string;
  readonly cases: readonly { readonly purpose: IndexPurpose; readonly value: string; readonly index: string }[];
}

function indexKeyring(indexKey: string) {
  const index = [{ key_id: 1, keys: deriveIndexKeys(sodium, bytes(indexKey)) }];
  return tenantKeyring(sodium, VAULT, 'tenant', { data: new Map(), sealing: 1, index }, UNLOCKED);
}

describe('fingerprints', () => {
  const { index_key, cases } = vectors<Fingerprints>('fingerprint');
  test.each(cases)('of $type $source $text', ({ type, source, text, fingerprint }) => {
    expect(indexKeyring(index_key).fingerprint(type, source, text)).toBe(fingerprint);
  });
});

describe('blind indexes', () => {
  const { index_key, cases } = vectors<BlindIndexes>('blind-index');
  test.each(cases)('of $purpose $value', ({ purpose, value, index }) => {
    expect(hex(indexKeyring(index_key).blindIndex(purpose, value))).toBe(index);
  });
});

interface Slots {
  readonly key_file: string;
  readonly passphrase: string;
  readonly passphrase_decomposed: string;
  readonly header: {
    readonly vault_id: string;
    readonly format: number;
    readonly created_at: number;
    readonly generation: number;
    readonly slots: readonly { readonly slot: number; readonly bytes: string }[];
    readonly mac: string;
  };
  readonly master_key: string;
  readonly api_key: string;
  readonly api_key_hash: string;
}

describe('a header', () => {
  const vector = vectors<Slots>('slot');
  const header = {
    ...vector.header,
    slots: vector.header.slots.map(({ slot, bytes: data }) => ({ slot, bytes: bytes(data) })),
    mac: bytes(vector.header.mac),
  };

  test('unlocks with its key file', async () => {
    const master = await unlockMasterKey(header, { kind: 'key_file', key: bytes(vector.key_file) });
    expect(hex(master)).toBe(vector.master_key);
  });

  test.each([vector.passphrase, vector.passphrase_decomposed])('unlocks with %j', async (passphrase) => {
    const master = await unlockMasterKey(header, { kind: 'passphrase', passphrase });
    expect(hex(master)).toBe(vector.master_key);
  });

  test('has the labels of its slots', () => {
    expect(listSlots(header).map(({ label }) => label)).toEqual([undefined, "Zoë's 笔记本"]);
  });

  test('derives the hash of an API key', async () => {
    const keyring = await unlockKeyring(header, { kind: 'key_file', key: bytes(vector.key_file) });
    expect(hex(keyring.apiKeyHash(vector.api_key))).toBe(vector.api_key_hash);
    keyring.close();
  });
});
