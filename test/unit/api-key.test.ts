import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { API_KEY } from '../../src/contract/schema.ts';
import { generateApiKey, isApiKey } from '../../src/core/applications/api-key.ts';
import { BASE58_ALPHABET, base58 } from '../../src/core/base58.ts';
import type { Random } from '../../src/core/ports.ts';

interface Vectors {
  readonly cases: readonly { readonly random: string; readonly key: string }[];
  readonly malformed: readonly string[];
}

const { cases, malformed } = JSON.parse(
  readFileSync(new URL('../vectors/api-key.json', import.meta.url), 'utf8'),
) as Vectors;

function randomFrom(bytes: (length: number) => Uint8Array): Random {
  return { bytes, id: () => '', timeOrderedId: () => '' };
}

/** Returns a random source that yields each of the bytes once, in order. */
function stream(hex: string): Random {
  const source = Buffer.from(hex, 'hex');
  let at = 0;
  return randomFrom((length) => {
    at += length;
    return source.subarray(at - length, at);
  });
}

const system = randomFrom((length) => randomBytes(length));

describe('API keys', () => {
  test.each(cases)('consist of random bytes: $key', ({ random, key }) => {
    expect(generateApiKey(stream(random))).toBe(key);
    expect(key).toMatch(new RegExp(API_KEY));
    expect(isApiKey(key)).toBe(true);
  });

  test.each(malformed)('do not include %j', (text) => {
    expect(isApiKey(text)).toBe(false);
  });

  test('fail their check when one character changes', () => {
    const key = generateApiKey(system);
    for (let at = 4; at < key.length; at++) {
      for (const character of BASE58_ALPHABET) {
        const changed = key.slice(0, at) + character + key.slice(at + 1);
        expect(isApiKey(changed)).toBe(changed === key);
      }
    }
  });
});

describe('base 58', () => {
  // The test vectors of draft-msporny-base58-03, section 5.
  test.each([
    [Buffer.from('Hello World!'), '2NEpo7TZRRrLZSi2U'],
    [
      Buffer.from('The quick brown fox jumps over the lazy dog.'),
      'USm3fpXnKG5EUBx2ndxBDMPVciP5hGey2Jh4NDv6gmeo1LkMeiKrLJUUBk6Z',
    ],
    [Buffer.from('0000287fb4cd', 'hex'), '11233QC4'],
    [Buffer.alloc(0), ''],
    [Buffer.alloc(3), '111'],
  ])('%j', (bytes, text) => {
    expect(base58(bytes)).toBe(text);
  });
});
