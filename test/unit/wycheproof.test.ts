import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { Problem } from '../../src/core/problem.ts';
import { openEnvelope, SUITE } from '../../src/keyring/envelope.ts';
import { loadSodium, type Sodium } from '../../src/keyring/sodium.ts';
import { readVectors } from '../vectors/read-vectors.ts';

interface Case {
  readonly tcId: number;
  readonly comment: string;
  readonly key: string;
  readonly msg: string;
  readonly tag: string;
  readonly result: 'valid' | 'invalid';
}

interface AeadCase extends Case {
  readonly iv: string;
  readonly aad: string;
  readonly ct: string;
}

interface Suite<Of extends Case> {
  readonly numberOfTests: number;
  readonly testGroups: readonly { readonly tagSize: number; readonly tests: readonly Of[] }[];
}

const bytes = (hex: string) => new Uint8Array(Buffer.from(hex, 'hex'));
const hex = (data: Uint8Array) => Buffer.from(data).toString('hex');
/** Flips the last bit of a hex text. */
const altered = (text: string) => text.slice(0, -1) + (Number.parseInt(text.slice(-1), 16) ^ 1).toString(16);

let sodium: Sodium;
beforeAll(async () => {
  sodium = await loadSodium();
});

describe('XChaCha20-Poly1305', () => {
  const { numberOfTests, testGroups } = readVectors<Suite<AeadCase>>('wycheproof/xchacha20_poly1305_test', '.json.gz');
  const cases = testGroups.flatMap(({ tests }) => tests);

  /** Opens an envelope with the nonce, ciphertext and tag of the case; returns `refused` when it does not open. */
  function opened({ key, iv, aad, ct }: AeadCase, tag: string): string {
    try {
      return hex(openEnvelope(sodium, bytes(key), 7, bytes(aad), bytes(`0${SUITE}00000007${iv}${ct}${tag}`)));
    } catch (error) {
      if (error instanceof Problem && error.code === 'integrity_failure') return 'refused';
      throw error;
    }
  }

  function sealed({ key, iv, aad, msg }: AeadCase): string {
    try {
      return hex(
        sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(bytes(msg), bytes(aad), null, bytes(iv), bytes(key)),
      );
    } catch (error) {
      if (error instanceof TypeError) return 'refused';
      throw error;
    }
  }

  it('covers all cases of the file', () => expect(cases).toHaveLength(numberOfTests));

  it.each(cases)('opens case $tcId as expected: $result $comment', (vector) => {
    expect(opened(vector, vector.tag)).toBe(vector.result === 'valid' ? vector.msg : 'refused');
  });

  it.each(cases.filter(({ result }) => result === 'valid'))('seals case $tcId', (vector) => {
    expect(sealed(vector)).toBe(vector.ct + vector.tag);
    expect(opened(vector, altered(vector.tag))).toBe('refused');
  });

  it.each(cases.filter(({ iv }) => iv.length !== 48))('rejects the nonce of case $tcId', (vector) => {
    expect(sealed(vector)).toBe('refused');
  });
});

describe('HMAC-SHA-256, the base of fingerprints', () => {
  const { numberOfTests, testGroups } = readVectors<Suite<Case>>('wycheproof/hmac_sha256_test', '.json.gz');
  const cases = testGroups.flatMap(({ tagSize, tests }) => tests.map((test) => ({ ...test, size: tagSize / 8 })));

  function holds({ key, msg, size }: (typeof cases)[number], tag: string): boolean {
    const made = createHmac('sha256', createSecretKey(bytes(key)))
      .update(bytes(msg))
      .digest();
    return timingSafeEqual(made.subarray(0, size), bytes(tag));
  }

  it('covers all cases of the file', () => expect(cases).toHaveLength(numberOfTests));

  it.each(cases)('case $tcId is $result $comment', (vector) => {
    expect(holds(vector, vector.tag)).toBe(vector.result === 'valid');
    if (vector.result === 'valid') expect(holds(vector, altered(vector.tag))).toBe(false);
  });
});
