import { expect, it } from 'vitest';
import { initNotes, type MadeVault } from '../../src/cli/commands/file/init.ts';

const FILE = { file: './vault.db', keyFile: undefined, keyCommand: undefined, keyOut: undefined };

it.each<readonly [made: MadeVault, said: RegExp]>([
  [
    { ...FILE, keyFile: 'k' },
    /wrote \.\/vault\.db; k opens it[\s\S]*copy of k in another place[\s\S]*the API key below[\s\S]* --key-file k /,
  ],
  [{ ...FILE, keyFile: './vault.db.key' }, /vault\.db\.key opens it[\s\S]*--file \.\/vault\.db --api-key-file FILE /],
  [FILE, /the passphrase opens it[\s\S]*keep the passphrase[\s\S]*the API key below/],
  [
    { ...FILE, keyCommand: 'c d' },
    /the key from the command opens it[\s\S]*keep the key[\s\S]* --key-command 'c d' --api/,
  ],
  [{ ...FILE, keyOut: "it's.key" }, /wrote the API key to it's\.key[\s\S]*--api-key-file 'it'\\''s\.key' /],
])('%j: names the files, what to keep, and the next command', (made, said) => {
  const text = initNotes(made).flat().join('\n');
  expect(text).toMatch(said);
  expect(text).toContain('vault apps create --file ./vault.db ');
});
