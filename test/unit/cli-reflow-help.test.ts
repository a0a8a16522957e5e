import { expect, it } from 'vitest';
import { reflowHelp } from '../../src/cli/help/help.ts';

it('wraps only paragraphs that are too wide', () => {
  const text =
    'Usage: x\n\nOptions:\n  -h  a very wide line of commander\n\none two three four\nfive six\n\nshort\nlines\n';
  expect(reflowHelp(text, 14)).toBe(
    'Usage: x\n\nOptions:\n  -h  a very wide line of commander\n\none two three\nfour five six\n\nshort\nlines\n',
  );
  expect(reflowHelp(text, 80)).toBe(text);
});

it('keeps a word whole that is wider than the line', () => {
  expect(reflowHelp('a https://vault.test/long b', 10)).toBe('a\nhttps://vault.test/long\nb');
});
