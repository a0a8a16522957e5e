import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { SHELLS } from '../../src/cli/commands/dev/env.ts';

const VALUES = [
  'http://127.0.0.1:1',
  'unix:/a b/c.sock',
  `it's "$HOME" \`id\` $(id) \\ \\' '' end\\`,
  '‘q’',
  'a\\nb',
  '*',
  '~',
  ' ',
];

/** Returns the value that a shell on this machine sets, or undefined when the shell is missing. */
function valueIn(shell: string, line: string): string | undefined {
  try {
    return execFileSync(shell, ['-c', `${line}\nprintenv VAULT_X`], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

describe('the lines of vault env', () => {
  it.each(VALUES)('%j arrives unchanged', (value) => {
    const inSh = valueIn('sh', SHELLS.sh.set('VAULT_X', value));
    const inFish = valueIn('fish', SHELLS.fish.set('VAULT_X', value));
    if (process.platform !== 'win32') expect(inSh).toBe(`${value}\n`);
    expect([`${value}\n`, undefined]).toContain(inFish);
  });

  it('quotes for each shell', () => {
    const value = `a'b\\c’d`;
    expect(SHELLS.sh.set('VAULT_X', value)).toBe(`export VAULT_X='a'\\''b\\c’d'`);
    expect(SHELLS.fish.set('VAULT_X', value)).toBe(`set -gx VAULT_X 'a\\'b\\\\c’d'`);
    expect(SHELLS.powershell.set('VAULT_X', value)).toBe(`$env:VAULT_X = 'a''b\\c’’d'`);
  });

  it('unsets a variable', () => {
    expect(
      valueIn('sh', `export VAULT_X=1\n${SHELLS.sh.unset('VAULT_X')}\nexport VAULT_X="[$VAULT_X]"`) ?? '[]\n',
    ).toBe('[]\n');
    expect(SHELLS.fish.unset('VAULT_X')).toBe('set -e VAULT_X');
    expect(SHELLS.powershell.unset('VAULT_X')).toBe('Remove-Item Env:VAULT_X -ErrorAction Ignore');
  });
});
