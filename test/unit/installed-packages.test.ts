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

/** The names of the locked packages that `npm i token-vault` installs and that run a script then. */
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

it('one that does is found', () => {
  expect(runningScripts({ a: { hasInstallScript: true }, b: { dev: true, hasInstallScript: true }, c: {} })).toEqual([
    'a',
  ]);
});

it('only Node itself may run one in a checkout', () => {
  const allowed = Object.entries(manifest.allowScripts).filter(([, may]) => may);
  expect(allowed).toEqual([['node', true]]);
});

it('npm ci does not compile better-sqlite3: npm does for a binding.gyp, unless the lockfile says no', () => {
  expect(lockfile.packages['node_modules/better-sqlite3']).toMatchObject({ gypfile: false });
});

/** The names of the locked packages whose bytes npm cannot check. */
function unchecked(packages: Readonly<Record<string, Locked>>): readonly string[] {
  return Object.keys(packages).filter((name) => name !== '' && packages[name]?.integrity === undefined);
}

it('every locked package has the hash of its bytes', () => {
  const packages: Readonly<Record<string, object>> = lockfile.packages;
  expect(unchecked(packages)).toEqual([]);
});

it('one without a hash is found', () => {
  expect(unchecked({ '': {}, a: { integrity: 'sha512-x' }, b: {} })).toEqual(['b']);
});

const STORE = path.join(ROOT, 'src/store/sqlite');

/** Comparisons with a bare parameter, which make SQLite prepare the statement anew at each run (src/store/sqlite/file/driver.ts). */
function bareComparisons(source: string): readonly string[] {
  const statements = source.matchAll(/\bWHERE\b[^`']*/g);
  return [...statements].flatMap(
    ([text]) => text.match(/(?<![<>])= [?@:$](?!\{)|\b(?:LIMIT|OFFSET) [?@:$](?!\{)/g) ?? [],
  );
}

it.each(readdirSync(STORE, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts')))(
  '%s compares with +?',
  (name) => {
    expect(bareComparisons(readFileSync(path.join(STORE, name), 'utf8'))).toEqual([]);
  },
);

it.each([
  ["'SELECT 1 FROM token WHERE id = ?'", ['= ?']],
  ["'SELECT 1 FROM token WHERE id = @id AND a = +@a LIMIT :limit'", ['= @', 'LIMIT :']],
  ['`UPDATE token SET a = ? WHERE id = +? LIMIT ?`', ['LIMIT ?']],
  ["'SELECT 1 FROM token WHERE a = +? AND b >= ? AND c <= @c LIMIT +? OFFSET +@o'", []],
])('finds bare parameters in %s', (source, found) => {
  expect(bareComparisons(source)).toEqual(found);
});
