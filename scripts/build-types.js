import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import { ROOT, writeIfChanged } from './build-output.js';

/** The names of a module, for a file that is none. */
function commonTypes(module, { values, types, classes = [] }) {
  const asModule = `with { 'resolution-mode': 'import' }`;
  const ofModule = (name) => `typeof import('${module}', { ${asModule.replace('with', 'with:')} }).${name}`;
  return [
    `export type { ${types.join(', ')} } from '${module}' ${asModule};`,
    ...[...values, ...classes].map((name) => `export declare const ${name}: ${ofModule(name)};`),
    ...classes.map((name) => `export type ${name} = InstanceType<typeof ${name}>;`),
    '',
  ].join('\n');
}

/** For those who `require` what the bundle has as CommonJS too. */
const COMMON_TYPES = {
  'client/create-client.d.cts': commonTypes('./create-client.js', {
    values: ['createClient'],
    types: ['CallOptions', 'ClientOptions', 'Fetch', 'RequestOf', 'VaultClient'],
    classes: ['VaultError'],
  }),
  'testing/start-vault.d.cts': commonTypes('./start-vault.js', {
    values: ['startVault'],
    types: ['StartOptions', 'TestVault'],
  }),
};

/** Declarations of what package.json exports. */
export async function emitTypes() {
  const manifest = createRequire(import.meta.url).resolve('typescript/package.json');
  const compiler = path.join(path.dirname(manifest), 'bin/tsc');
  const { status, error } = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], {
    cwd: ROOT,
    stdio: 'inherit',
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`tsc ended with ${status}`);
  for (const [file, text] of Object.entries(COMMON_TYPES))
    await writeIfChanged(path.join(ROOT, 'dist/types', file), text);
  return 'dist/types';
}
