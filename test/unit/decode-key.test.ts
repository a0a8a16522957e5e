import { expect, it } from 'vitest';
import { decodeKey } from '../../src/cli/credential/decode-key.ts';

it.each([
  ['base64', `${'A'.repeat(42)}A=`, true],
  ['base64 whose last digit has more bits than a key', `${'A'.repeat(42)}B=`, false],
  ['base64 without padding', 'A'.repeat(44), false],
  ['base64 for URLs', `${'-'.repeat(42)}A=`, false],
  ['hex', '0'.repeat(64), true],
  ['half of a key in hex', '0a'.repeat(16), false],
  ['half of a key in hex, and a newline', `${'0A'.repeat(16)}\n`, false],
  ['a cut hex key with a line end', `${'0'.repeat(31)}\n`, false],
  ['32 other characters', 'AbCdEfGh-/+=wxyz'.repeat(2), false],
  ['raw bytes that begin with hex digits', `${'0'.repeat(31)}\0`, true],
  ['hex with another character', `${'0'.repeat(63)}x`, false],
])('decodes only one text per key: %s', (_what, text, isKey) => {
  expect(decodeKey(Buffer.from(text)) !== undefined).toBe(isKey);
});
