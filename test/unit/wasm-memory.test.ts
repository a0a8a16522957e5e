import { beforeAll, describe, expect, it } from 'vitest';
import { openEnvelope, sealEnvelope } from '../../src/keyring/envelope.ts';
import { keyedHash } from '../../src/keyring/keyed-hash.ts';
import { loadSodium, type Sodium } from '../../src/keyring/sodium.ts';
import { release, reserve, type Wasm } from '../../src/keyring/wasm-memory.ts';

const KEY = new Uint8Array(32).map((_, index) => 200 + (index % 7));
const CONTEXT = new TextEncoder().encode('a context');

let sodium: Sodium;
beforeAll(async () => {
  sodium = await loadSodium();
});

describe('the memory of libsodium', () => {
  it('holds neither key nor plaintext after a call', () => {
    const text = new TextEncoder().encode('plaintext that nobody should find');
    const envelope = sealEnvelope(sodium, KEY, 1, CONTEXT, text);
    openEnvelope(sodium, KEY, CONTEXT, envelope);
    keyedHash(sodium, 16, text, KEY);
    const heap = Buffer.from(sodium.libsodium.HEAPU8);
    expect(heap.indexOf(text)).toBe(-1);
    expect(heap.indexOf(KEY)).toBe(-1);
    // The control: what is there is found.
    const at = reserve(sodium.libsodium, KEY.length);
    sodium.libsodium.HEAPU8.set(KEY, at);
    expect(Buffer.from(sodium.libsodium.HEAPU8).indexOf(KEY)).toBe(at);
    release(sodium.libsodium, at, KEY.length);
    expect(Buffer.from(sodium.libsodium.HEAPU8).indexOf(KEY)).toBe(-1);
  });

  it('is not written to at its start when it cannot grow', () => {
    const full: Wasm = Object.assign(Object.create(sodium.libsodium), { _malloc: () => 0 });
    expect(() => reserve(full, 100_000)).toThrow(RangeError);
    expect(() => reserve(full, 10)).toThrow(RangeError);
    const envelope = sealEnvelope(sodium, KEY, 1, CONTEXT, new Uint8Array(3));
    expect(openEnvelope(sodium, KEY, CONTEXT, envelope)).toEqual(new Uint8Array(3));
  });
});
