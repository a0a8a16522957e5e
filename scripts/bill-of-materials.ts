import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import sodium from 'libsodium-wrappers';
import manifest from '../package.json' with { type: 'json' };
import { ROOT } from './build-output.ts';

const SQLITE = path.join(ROOT, 'node_modules/better-sqlite3');
const VERSION = /^#define SQLITE_VERSION\s+"(.+)"$/m;

/** A row of package-lock.json, and its name. */
export interface LockedPackage {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly integrity: string;
}

/** Returns the SHA-256 of a file, as a member of `hashes`. */
function sha256(...parts: readonly string[]) {
  return {
    alg: 'SHA-256',
    content: createHash('sha256')
      .update(readFileSync(path.join(...parts)))
      .digest('hex'),
  };
}

/** Returns the hashes of an archive from its Subresource Integrity, as package-lock.json has it. */
function hashesOf(integrity: string) {
  return integrity.split(' ').map((one) => {
    const [algorithm = '', digest = ''] = one.split(/-(.*)/s);
    return { alg: algorithm.replace('sha', 'SHA-'), content: Buffer.from(digest, 'base64').toString('hex') };
  });
}

/** SQLite, with the hash of its source, and the built modules that contain it. */
function partsOfSqlite() {
  const source = path.join(SQLITE, 'deps/sqlite3');
  const [, version] = VERSION.exec(readFileSync(path.join(source, 'sqlite3.h'), 'utf8')) ?? [];
  if (version === undefined) throw new Error('sqlite3.h names no version');
  const modules = readdirSync(path.join(SQLITE, 'prebuilds')).sort();
  return [
    {
      type: 'library',
      name: 'sqlite',
      version,
      hashes: [sha256(source, 'sqlite3.c')],
      purl: generic('sqlite', version),
    },
    ...modules.map((name) => ({
      type: 'file',
      name: `prebuilds/${name}`,
      hashes: [sha256(SQLITE, 'prebuilds', name)],
    })),
  ];
}

async function partsOfSodium() {
  await sodium.ready;
  const version = sodium.SODIUM_VERSION_STRING;
  return [{ type: 'library', name: 'libsodium', version, purl: generic('libsodium', version) }];
}

const generic = (name: string, version: string) => `pkg:generic/${name}@${version}`;

/**
 * Resolves to a CycloneDX 1.6 document of packages, which are rows of package-lock.json with their names. The hash of a
 * package is that of its archive in the registry. C libraries inside a package are its components.
 */
export async function billOfMaterials(packages: readonly LockedPackage[]): Promise<string> {
  const parts: Readonly<Record<string, object>> = {
    'better-sqlite3': partsOfSqlite(),
    libsodium: await partsOfSodium(),
    'libsodium-sumo': await partsOfSodium(),
  };
  const described = ({ name, version, license }: Omit<LockedPackage, 'integrity'>) => ({
    name,
    version,
    licenses: [{ license: { id: license } }],
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
  });
  const components = packages.map((each) => ({
    type: 'library',
    ...described(each),
    scope: 'required',
    hashes: hashesOf(each.integrity),
    ...(Object.hasOwn(parts, each.name) && { components: parts[each.name] }),
  }));
  const metadata = { component: { type: 'application', ...described(manifest) } };
  const document = { bomFormat: 'CycloneDX', specVersion: '1.6', version: 1, metadata, components };
  return `${JSON.stringify(document, null, 2)}\n`;
}
