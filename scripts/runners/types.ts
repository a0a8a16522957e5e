import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { environment, execute } from './execute.ts';

/** A program with every import of the package. Each line after the marker has one error. */
const PROGRAM = `import { openVault, type OpenVaultOptions } from 'token-vault';
import { createClient, type Token, type VaultClient, VaultError } from 'token-vault/client';
import { startVault, type TestVault } from 'token-vault/testing';
export async function use(options: OpenVaultOptions): Promise<Token | undefined> {
  const vault: TestVault = await startVault({ mode: 'child' });
  const client: VaultClient = createClient({ url: vault.url, apiKey: vault.keys.private_key });
  await (await openVault(options)).close();
  // wrong:
  void vault.keys.private_kye;
  void startVault({ mode: 'childish' });
  void client.listTokens({ query: { type: ['crad'] } });
  void openVault({ file: 7 });
  void new VaultError().codes;
  return (await client.listTokens()).data[0];
}
`;
const FIRST_WRONG = PROGRAM.split('\n').findIndex((line) => line.includes('// wrong:')) + 2;

type Resolution = keyof typeof OPTIONS;

const TARGET = { strict: true, noEmit: true, target: 'es2022', lib: ['es2022'], types: ['node'] };
const OPTIONS = {
  node10: { ...TARGET, module: 'commonjs', moduleResolution: 'node10' },
  nodenext: { ...TARGET, module: 'nodenext' },
};

/**
 * Compiles a program with the compiler of the project. Throws when an import has no types, when the declarations have
 * errors, or when a wrong name compiles.
 */
export async function checkTypes(resolution: Resolution, folder: string, bin: string): Promise<void> {
  mkdirSync(folder);
  writeFileSync(path.join(folder, 'use.ts'), PROGRAM);
  writeFileSync(
    path.join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: OPTIONS[resolution], files: ['use.ts'] }),
  );
  const output = await execute('tsc -p . --pretty false', { cwd: folder, env: environment([bin]) }, 2);
  const lines = output.match(/^\S.*error TS.*$/gm) ?? [];
  const wrong = lines.map((line) => Number(/^use\.ts\((\d+),/.exec(line)?.[1]));
  const expected = [0, 1, 2, 3, 4].map((index) => FIRST_WRONG + index);
  if (JSON.stringify([...new Set(wrong)]) !== JSON.stringify(expected)) {
    throw new Error(`${resolution}: other errors than in lines ${expected.join(', ')}:\n${output}`);
  }
}
