import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import lockfile from '../../package-lock.json' with { type: 'json' };
import { billOfMaterials, type LockedPackage } from '../../scripts/bill-of-materials.ts';
import { ROOT } from '../../scripts/build-output.ts';
import { sodiumVersion } from '../../src/keyring/sodium.ts';

interface Locked {
  readonly version?: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly inBundle?: boolean;
  readonly hasInstallScript?: boolean;
  readonly integrity?: string;
}

type Packages = Readonly<Record<string, Locked>>;

/** Packages with binaries for each platform, and their headers. They do not fit into the archive of this package. */
const INSTALLED_APART = ['node_modules/better-sqlite3', 'node_modules/node-addon-api'];

/** A fault that no locked package may have, and packages of which `a` has it. */
const RULES: readonly (readonly [string, (entry: Locked, name: string) => boolean, Packages])[] = [
  [
    'runs a script when a user installs the product',
    ({ dev, hasInstallScript }) => dev !== true && hasInstallScript === true,
    { a: { hasInstallScript: true }, b: { dev: true, hasInstallScript: true }, c: {} },
  ],
  ['has no hash', ({ integrity }) => integrity === undefined, { '': {}, a: {}, b: { integrity: 'sha512-x' } }],
  [
    'can have another version at a user than in the tests',
    ({ dev, inBundle }, name) => dev !== true && inBundle !== true && !INSTALLED_APART.includes(name),
    { '': {}, a: {}, b: { dev: true }, c: { inBundle: true } },
  ],
];

it.each(RULES)('no package %s', (_what, isWrong, control) => {
  const wrong = (packages: Packages) =>
    Object.keys(packages).filter((name) => name !== '' && isWrong(packages[name] ?? {}, name));
  expect(wrong(lockfile.packages as Readonly<Record<string, object>>)).toEqual([]);
  expect(wrong(control)).toEqual(['a']);
});

it('only Node itself may run an install script in a checkout', () => {
  const allowed = Object.entries(manifest.allowScripts).filter(([, may]) => may);
  expect(allowed).toEqual([['node', true]]);
});

it('the lockfile keeps npm ci from compiling better-sqlite3', () => {
  expect(lockfile.packages['node_modules/better-sqlite3']).toMatchObject({ gypfile: false });
});

it('all dependencies but better-sqlite3 are in the package, and all versions are exact', () => {
  const { 'better-sqlite3': sqlite, ...bundled } = manifest.dependencies;
  expect(manifest.bundleDependencies).toEqual(Object.keys(bundled));
  for (const version of [sqlite, ...Object.values(bundled)]) expect(version).toMatch(/^\d+\.\d+\.\d+$/);
});

interface Component {
  readonly name: string;
  readonly version?: string;
  readonly hashes: readonly { readonly alg: string; readonly content: string }[];
  readonly components?: readonly Component[];
}

it('the bill of materials has the hash of each package, and the C libraries in them', async () => {
  const { '': own, ...packages } = lockfile.packages;
  const entries = Object.entries<Locked & Omit<LockedPackage, 'name'>>(packages);
  const shipped = entries.filter(([, { dev }]) => dev !== true);
  const named = shipped.map(([folder, entry]) => ({ ...entry, name: folder.replace('node_modules/', '') }));
  const { components }: { readonly components: readonly Component[] } = JSON.parse(await billOfMaterials(named));
  const found = new Map(components.map((each) => [each.name, each]));
  expect([...found.keys()]).toEqual(named.map(({ name }) => name));
  for (const { name, integrity } of named) {
    const content = Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex');
    expect(found.get(name)?.hashes).toEqual([{ alg: 'SHA-512', content }]);
  }
  const [sqlite, ...modules] = found.get('better-sqlite3')?.components ?? [];
  const running = new Database(':memory:').prepare('SELECT sqlite_version()').pluck().get();
  expect(sqlite).toMatchObject({ name: 'sqlite', version: running, hashes: [{ alg: 'SHA-256' }] });
  const module = modules.find(({ name }) => name.includes(`${process.platform}-${process.arch}`));
  const bytes = readFileSync(path.join(ROOT, 'node_modules/better-sqlite3', module?.name ?? ''));
  expect(module?.hashes).toEqual([{ alg: 'SHA-256', content: hash('sha256', bytes, 'hex') }]);
  const version = await sodiumVersion();
  for (const name of ['libsodium', 'libsodium-sumo']) {
    expect(found.get(name)?.components).toMatchObject([{ name: 'libsodium', version }]);
  }
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
