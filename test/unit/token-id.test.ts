import { describe, expect, test } from 'vitest';
import { checkTokenId, mayBeId } from '../../src/core/tokens/token-id.ts';

const LENGTH = 'must have 3 to 400 characters';
const CHARACTERS = 'must not contain # / \\ + ? [ ] | & = % < > { } ^ or control characters';

describe('checkTokenId', () => {
  test.each([
    'abc',
    '...',
    'a b c',
    'XXXX-4242',
    'a.b_c~d!@$*()\'";:,`',
    'éèü',
    '😀😀😀',
    'x'.repeat(400),
    '😀'.repeat(400),
  ])('accepts %s', (id) => expect(checkTokenId(id)).toBeUndefined());

  test.each(['', 'a', '.', '..', 'ab', '😀', '😀😀', 'x'.repeat(401), '😀'.repeat(401)])(
    'refuses the length of %j',
    (id) => expect(checkTokenId(id)).toBe(LENGTH),
  );

  test.each([...'#/\\+?[]|&=%<>{}^'])('rejects %s', (character) => {
    expect(checkTokenId(`abc${character}def`)).toBe(CHARACTERS);
  });

  test('rejects every control character', () => {
    for (let code = 0; code < 0xa0; code++) {
      const control = code < 0x20 || code >= 0x7f;
      if (control) expect(checkTokenId(`ab${String.fromCharCode(code)}`)).toBe(CHARACTERS);
    }
  });

  test.each(['abc\ud83d', '\ude00abc', 'a\ude00\ud83db'])('rejects half of a surrogate pair', (id) => {
    expect(checkTokenId(id)).toBe(CHARACTERS);
  });
});

describe('mayBeId', () => {
  test.each(['abc', 'a b', 'éèü', 'x'.repeat(400), '😀'.repeat(400), 'of an older rule: #'])('accepts %s', (id) => {
    expect(mayBeId(id)).toBe(true);
  });

  test.each(['x'.repeat(401), '😀'.repeat(401), `${'x'.repeat(399)}😀😀`, 'a\nb', 'é\u0085', '\0'])(
    'takes no %j',
    (id) => {
      expect(mayBeId(id)).toBe(false);
    },
  );
});
