#!/usr/bin/env node
// The build makes dist/vault.cjs of this file, in syntax that Node 14 reads. Paths from here and from there are equal.
import { existsSync, readFileSync } from 'node:fs';
import { enableCompileCache } from 'node:module';

const ROOT = `${import.meta.dirname}/..`;
const MAIN = '../dist/cli/main.js';

/** Returns whether `version` is in `range`, a list of `^1.2.3` and `>=1` joined by ` || `. */
function isInRange(version: string, range: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  return range.split(' || ').some((part) => {
    const [low = 0, lowMinor = 0, lowPatch = 0] = part.replace(/^\D+/, '').split('.').map(Number);
    if (major !== low) return part.startsWith('>=') && major > low;
    return minor !== lowMinor ? minor > lowMinor : patch >= lowPatch;
  });
}

async function start(): Promise<void> {
  // Beside the code: another user who could plant compiled code there could as well change the code itself. Before the
  // build, this would create a `dist` that only this user may read.
  if (exists('dist')) {
    const mask = process.umask(0o077);
    enableCompileCache(`${ROOT}/dist/cache`);
    process.umask(mask);
  }
  const { main }: typeof import('../src/cli/main.ts') = await import(MAIN);
  // Node exits without an error when a prompt waits for an input that has ended.
  process.exitCode = 130;
  process.exitCode = await main(process.argv.slice(2), { ownsOutput: true });
}

function fail(exitCode: number, message: string): void {
  process.stderr.write(`vault: ${message}\n`);
  process.exitCode = exitCode;
}

const exists = (path: string) => existsSync(`${ROOT}/${path}`);
// Bundling package.json would add all of it.
const { engines }: { readonly engines: { readonly node: string } } = JSON.parse(
  readFileSync(`${ROOT}/package.json`, 'utf8'),
);
if (!isInRange(process.versions.node, engines.node)) {
  const hint = exists('src') ? '; npx token-vault in the checkout works' : '';
  fail(2, `needs Node.js ${engines.node}, found ${process.versions.node}${hint}`);
} else {
  start().catch(({ stack }: Error) => {
    if (!exists(MAIN.slice(3))) fail(1, 'dist/ is missing\nhint: run `npm run build` in the checkout');
    else
      fail(
        1,
        `unexpected error\n${process.env['VAULT_DEBUG'] === '1' ? stack : 'hint: set VAULT_DEBUG=1 to see where'}`,
      );
  });
}
