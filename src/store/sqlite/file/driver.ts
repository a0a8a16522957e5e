import { createRequire } from 'node:module';
import type BetterSqlite3 from 'better-sqlite3';
import { assertEngine } from '../../../core/assert-engine.ts';
import { Fault, isError } from '../../../core/fault.ts';
import { findShortage } from './open-files.ts';
import { sqliteCode } from './sqlite-error.ts';

export type Connection = BetterSqlite3.Database;
export type Driver = typeof BetterSqlite3;

/** The Node-API version that better-sqlite3 13 needs. On an older Node.js the process would crash without a message. */
const MIN_NODE_API = 10;

/** Returns whether the binding loads on a Node.js with this Node-API version. */
export function bindingRuns(nodeApi: string | undefined): boolean {
  return Number(nodeApi ?? 0) >= MIN_NODE_API;
}

let driver: Driver | undefined;

/**
 * Loads better-sqlite3, which loads its binding at the first opening. Rejects with the faults `binding_missing` and
 * `usage`.
 *
 * All SQL here writes an equality as `= +?` and a limit as `LIMIT +?`. Since version 3.54, SQLite's planner reads the
 * value of a bare parameter in these places (whereLoopOutputAdjust) and prepares the statement again after each
 * sqlite3_clear_bindings. better-sqlite3 calls that function after each run, which costs 5 to 50 µs. The planner
 * ignores a parameter with a sign.
 */
export async function loadDriver(): Promise<Driver> {
  driver ??= load();
  return driver;
}

function load(): Driver {
  assertEngine();
  if (!bindingRuns(process.versions['napi'])) {
    throw new Fault('binding_missing', `Node.js ${process.versions.node} is too old for better-sqlite3`, {
      hint: 'update Node.js to 22.22.2 or later',
    });
  }
  try {
    // `require` is faster than `import`, which first searches a CommonJS file for the names that it exports.
    return createRequire(import.meta.filename)('better-sqlite3');
  } catch (cause) {
    throw bindingMissing(cause);
  }
}

function bindingMissing(cause: unknown): Fault {
  const shortage = findShortage();
  if (shortage !== undefined) {
    return new Fault('too_many_files', 'cannot load better-sqlite3: too many files are open', { cause: shortage });
  }
  const [reason = ''] = isError(cause) ? cause.message.split('\n') : [];
  return new Fault('binding_missing', `cannot load the native part of better-sqlite3: ${reason}`, { cause });
}

/** Opens a database. Throws the fault `binding_missing`, and the errors of the driver. */
export function openDatabase(Database: Driver, path: string, options?: BetterSqlite3.Options): Connection {
  try {
    return new Database(path, options);
  } catch (error) {
    // The driver checks a path before it loads the binding, and throws a TypeError.
    throw (isError(error) && error.name === 'TypeError') || sqliteCode(error) !== undefined
      ? error
      : bindingMissing(error);
  }
}

/** Returns the number that a query without parameters selects, or 0 for NULL. */
export function selectNumber(connection: Connection, sql: string): number {
  return connection.prepare<[], number | null>(sql).pluck().get() ?? 0;
}

/** Returns the version of SQLite that stores vaults. Rejects with the fault `binding_missing`. */
export async function sqliteVersion(): Promise<string> {
  const connection = openDatabase(await loadDriver(), ':memory:');
  try {
    return String(connection.prepare('SELECT sqlite_version()').pluck().get());
  } finally {
    connection.close();
  }
}

type Prepare = <Params extends unknown[], Row = unknown>(sql: string) => () => BetterSqlite3.Statement<Params, Row>;

/**
 * Returns functions that prepare a statement on its first run, so that a command prepares only the statements that it
 * runs. The statements of `rows` return rows as objects, those of `value` the first column, those of `lists` lists.
 */
export function statements(connection: Connection) {
  const prepared =
    (mode?: 'pluck' | 'raw'): Prepare =>
    <Params extends unknown[], Row>(sql: string) => {
      let cached: BetterSqlite3.Statement<Params, Row> | undefined;
      return () => {
        if (cached !== undefined) return cached;
        const statement: BetterSqlite3.Statement<Params, Row> = connection.prepare(sql);
        cached = mode === undefined ? statement : statement[mode]();
        return cached;
      };
    };
  return { rows: prepared(), value: prepared('pluck'), lists: prepared('raw') };
}
