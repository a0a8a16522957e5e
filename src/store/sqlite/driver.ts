import type BetterSqlite3 from 'better-sqlite3';
import { Fault } from '../../core/fault.ts';

export type Connection = BetterSqlite3.Database;
export type Driver = typeof BetterSqlite3;

/** The Node-API that better-sqlite3 13 calls. On an older Node.js the process would crash without a message. */
const MIN_NODE_API = 10;

/** Returns whether the binding loads on a Node.js with this Node-API. */
export function bindingRuns(nodeApi: string | undefined): boolean {
  return Number(nodeApi ?? 0) >= MIN_NODE_API;
}

let driver: Promise<Driver> | undefined;

/**
 * Loads better-sqlite3 and proves that its binding works. Rejects with the fault `binding_missing`.
 *
 * Statements write an equality as `= +?` and a limit as `LIMIT +?`. Since 3.54 SQLite's planner looks at the value of a
 * bare parameter there (whereLoopOutputAdjust), and then prepares the statement again after each
 * sqlite3_clear_bindings, which better-sqlite3 calls after each run: 5 to 50 µs a run. It does not look behind a sign.
 */
export async function loadDriver(): Promise<Driver> {
  driver ??= load();
  return await driver;
}

async function load(): Promise<Driver> {
  if (!bindingRuns(process.versions['napi'])) {
    throw new Fault('binding_missing', `Node.js ${process.versions.node} is too old for better-sqlite3`, {
      hint: 'update Node.js to 22.22.2 or later',
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
