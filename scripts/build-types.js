import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import { ROOT } from './build-output.js';

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
  return 'dist/types';
}
