import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { ROOT, writeIfChanged } from './build-output.js';
import { API_TYPES } from './client-types.js';

/** Returns a declaration file that re-exports the values and types of an ES module for programs that `require` it. */
function commonTypes(module, values, types) {
  const member = (name) => `typeof import('${module}', { with: { 'resolution-mode': 'import' } }).${name}`;
  return [
    `export type { ${types.join(', ')} } from '${module}' with { 'resolution-mode': 'import' };`,
    ...values.map((name) => `export declare const ${name}: ${member(name)};`),
    '',
  ].join('\n');
}

const COMMON_TYPES = {
  'client/create-client.d.cts': `${commonTypes(
    './create-client.js',
    ['createClient', 'VaultError'],
    ['CallOptions', 'ClientOptions', 'Fetch', 'ProblemCode', ...API_TYPES],
  )}export type VaultError = InstanceType<typeof VaultError>;\n`,
  'library/open-vault.d.cts': commonTypes('./open-vault.js', ['openVault'], ['OpenedVault', 'OpenVaultOptions']),
  'testing/start-vault.d.cts': commonTypes('./start-vault.js', ['startVault'], ['StartOptions', 'TestVault']),
};

/** Writes declarations of the modules that package.json exports. Resolves to their folder. */
export async function emitTypes() {
  const compiler = path.join(ROOT, 'node_modules/typescript/bin/tsc');
  const { status } = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], {
    cwd: ROOT,
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error(`tsc exited with ${status}`);
  const files = Object.entries(COMMON_TYPES).map(([name, text]) => [path.join(ROOT, 'dist/types', name), text]);
  for (const [file, text] of files) await writeIfChanged(file, text);
  return 'dist/types';
}
