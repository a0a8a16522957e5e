import type BetterSqlite3 from 'better-sqlite3';
import { Fault } from '../../core/fault.ts';

export type Connection = BetterSqlite3.Database;
export type Driver = typeof BetterSqlite3;

/** Node-API 10 is what the prebuilt binding of better-sqlite3 13 calls; without it the process ends without a word. */
const NODE_API_OF_MAJOR: Readonly<Record<string, number>> = { '13': 10 };

/** True when this Node can load this version of better-sqlite3. */
export function bindingRuns(version: string, nodeApi: string | undefined): boolean {
  const major = version.split('.', 1)[0] ?? '';
  const needed = Object.hasOwn(NODE_API_OF_MAJOR, major) ? (NODE_API_OF_MAJOR[major] ?? 0) : 0;
  return Number(nodeApi ?? 0) >= needed;
}

let driver: Promise<Driver> | undefined;

/** better-sqlite3 with its binding proven to load. Throws the fault `binding_missing`. */
export async function loadDriver(): Promise<Driver> {
  driver ??= load();
  return await driver;
}

async function load(): Promise<Driver> {
  const { default: manifest } = await import('better-sqlite3/package.json', { with: { type: 'json' } });
  const { napi } = process.versions;
  if (!bindingRuns(versionIn(manifest), napi)) {
    throw new Fault('binding_missing', 'this Node.js is too old for the installed better-sqlite3', {
      hint: 'update Node.js to 22.14 or later, or install better-sqlite3 12',
    });
  }
  try {
    const { default: Database } = await import('better-sqlite3');
    new Database(':memory:').close();
    return Database;
  } catch (cause) {
    throw new Fault('binding_missing', 'the native part of better-sqlite3 cannot be loaded', { cause });
  }
}

function versionIn(manifest: unknown): string {
  const version = typeof manifest === 'object' && manifest !== null && 'version' in manifest && manifest.version;
  return typeof version === 'string' ? version : '';
}
