import { expect, it } from 'vitest';
import { shellWord } from '../../src/client/shell-word.ts';

it.each([
  ['/a/b-1.db', '/a/b-1.db'],
  ['name=value', 'name=value'],
  // zsh replaces `=ls` by the path of the program.
  ['=ls', "'=ls'"],
  ['', "''"],
  ["it's", "'it'\\''s'"],
])('the word %j is %s in a shell', (text, word) => {
  expect(shellWord(text)).toBe(word);
});
