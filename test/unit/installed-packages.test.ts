import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import lockfile from '../../package-lock.json' with { type: 'json' };
import { ROOT } from '../../scripts/build-output.js';

interface Locked {
  readonly dev?: boolean;
  readonly hasInstallScript?: boolean;
  readonly integrity?: string;
}

/** Returns the locked packages that run a script when a user installs the product. */
function runningScripts(packages: Readonly<Record<string, Locked>>): readonly string[] {
  return Object.keys(packages).filter((name) => {
    const { dev, hasInstallScript } = packages[name] ?? {};
    return name !== '' && dev !== true && hasInstallScript === true;
  });
}

it('no package that a user installs runs an install script', () => {
  const packages: Readonly<Record<string, object>> = lockfile.packages;
  expect(runningScripts(packages)).toEqual([]);
});

it('control: an install script of a package is found', () => {
  expect(runningScripts({ a: { hasInstallScript: true }, b: { dev: true, hasInstallScript: true }, c: {} })).toEqual([
    'a',
  ]);
});

it('only Node itself may run an install script in a checkout', () => {
  const allowed = Object.entries(manifest.allowScripts).filter(([, may]) => may);
  expect(allowed).toEqual([['node', true]]);
});

it('the lockfile keeps npm ci from compiling better-sqlite3', () => {
  expect(lockfile.packages['node_modules/better-sqlite3']).toMatchObject({ gypfile: false });
});

/** Returns the locked packages without a hash. */
function unchecked(packages: Readonly<Record<string, Locked>>): readonly string[] {
  return Object.keys(packages).filter((name) => name !== '' && packages[name]?.integrity === undefined);
}

it('every locked package has a hash', () => {
  const packages: Readonly<Record<string, object>> = lockfile.packages;
  expect(unchecked(packages)).toEqual([]);
});

it('control: a package without a hash is found', () => {
  expect(unchecked({ '': {}, a: { integrity: 'sha512-x' }, b: {} })).toEqual(['b']);
});

const STORE = path.join(ROOT, 'src/store/sqlite');

/**
 * Returns comparisons with a bare parameter, which make SQLite prepare the statement again on each run
 * (src/store/sqlite/file/driver.ts).
 */
function bareComparisons(source: string): readonly string[] {
  const statements = source.matchAll(/\bWHERE\b[^`']*/g);
  return [...statements].flatMap(
    ([text]) => text.match(/(?<![<>])= [?@:$](?!\{)|\b(?:LIMIT|OFFSET) [?@:$](?!\{)/g) ?? [],
  );
}

it.each(readdirSync(STORE, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts')))(
  '%s has no bare parameters',
  (name) => {
    expect(bareComparisons(readFileSync(path.join(STORE, name), 'utf8'))).toEqual([]);
  },
);

it.each([
  ["'SELECT 1 FROM token WHERE id = ?'", ['= ?']],
  ["'SELECT 1 FROM token WHERE id = @id AND a = +@a LIMIT :limit'", ['= @', 'LIMIT :']],
  ['`UPDATE token SET a = ? WHERE id = +? LIMIT ?`', ['LIMIT ?']],
  ["'SELECT 1 FROM token WHERE a = +? AND b >= ? AND c <= @c LIMIT +? OFFSET +@o'", []],
])('control: finds the bare parameters of %s', (source, found) => {
  expect(bareComparisons(source)).toEqual(found);
});
