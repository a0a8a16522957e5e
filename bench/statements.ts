import { randomBytes } from 'node:crypto';
import path from 'node:path';
import Database from 'better-sqlite3';
import type { Call } from '../src/contract/call.ts';
import type { OperationId } from '../src/contract/operations.ts';

import { createVault } from '../src/vault/vault.ts';
import { type CaseResult, line } from './figures.ts';
import { cardBody, withFolder } from './vault.ts';

const TOKENS = 1000;
const ROUNDS = 200;
const CALLS = 100;

/** The maximum cost of a read of one row, as a multiple of reading the same columns by rowid without a join. */
const MAX_RATIO = 1.5;

/** Matches a read of one row of these tables, with any joins. */
const ROW_READ =
  /^SELECT (?<columns>(?:[at]\.)?(?:id|token|tenant), (?:(?!\(SELECT)[\s\S])*?)\s+FROM (?:(?:tenant|\([^()]*\)) n\s+CROSS JOIN )?(?<table>token|application|tenant)\b(?: (?<alias>[at])\b)?/;

const RULE = { description: 'all', priority: 1, container: '/', transform: 'reveal' };
const PERMISSIONS = ['token:read', 'token:create', 'token:update'];
const APPLICATION = { name: 'a', type: 'private', rules: [{ ...RULE, permissions: PERMISSIONS }] };

/** Records the arguments of each statement, by its text, while `work` runs. */
async function recordStatements(work: () => Promise<void>): Promise<ReadonlyMap<string, readonly unknown[]>> {
  const { prepare } = Database.prototype;
  const recorded = new Map<string, readonly unknown[]>();
  Database.prototype.prepare = new Proxy(prepare, {
    apply(_prepare, self, [sql]: [string]) {
      const statement: Database.Statement<unknown[]> = Reflect.apply(prepare, self, [sql]);
      statement.get = new Proxy(statement.get, {
        apply(get, own, args: unknown[]) {
          const row = Reflect.apply(get, own, args);
          if (row !== undefined) recorded.set(sql, args);
          return row;
        },
      });
      statement.all = new Proxy(statement.all, {
        apply(all, own, args: unknown[]) {
          const rows = Reflect.apply(all, own, args);
          if (rows.length === 1) recorded.set(sql, args);
          return rows;
        },
      });
      return statement;
    },
  });
  try {
    await work();
  } finally {
    Database.prototype.prepare = prepare;
  }
  return recorded;
}

/** The members of a reply that later calls need. */
interface Made {
  readonly id: string;
  readonly key: string;
}

/** Creates a vault of `TOKENS` cards and performs each kind of request; returns the statements that read one row. */
async function recordRequests(folder: string) {
  const file = path.join(folder, 'vault.db');
  const credential = { kind: 'key_file', key: randomBytes(32) } as const;
  const recorded = await recordStatements(async () => {
    const { vault, application } = await createVault({ file, credential, tenantName: 'bench' });
    const call = async (apiKey: string | undefined, operation: OperationId, parts: Partial<Call>): Promise<Made> =>
      JSON.parse((await vault.dispatch({ operation, apiKey, params: {}, query: [], ...parts })).bodyText ?? '');
    const body = (bodyText: string) => ({ mediaType: 'application/json', bodyText });
    const made = await call(application.key, 'createApplication', body(JSON.stringify(APPLICATION)));
    let id = '';
    for (let n = 0; n < TOKENS; n += 1) ({ id } = await call(made.key, 'createToken', body(cardBody(n))));
    const patch = { mediaType: 'application/merge-patch+json', bodyText: '{"metadata":{"a":"b"}}' };
    await call(made.key, 'getToken', { params: { id } });
    await call(made.key, 'updateToken', { params: { id }, ...patch });
    await call(application.key, 'getApplication', { params: { id: made.id } });
    await call(application.key, 'getTenant', {});
    await vault.close();
  });
  return { file, statements: [...recorded].filter(([sql]) => ROW_READ.test(sql)) };
}

/** A statement with its values. */
interface Bound {
  readonly statement: Database.Statement<unknown[]>;
  readonly args: readonly unknown[];
}

/**
 * Returns the microseconds per call of each statement, in its quickest round. The rounds are short and alternate, so
 * that other load disturbs few of them.
 */
function microseconds(statements: readonly Bound[]): readonly number[] {
  const quickest = statements.map(() => Number.POSITIVE_INFINITY);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [index, { statement, args }] of statements.entries()) {
      const started = performance.now();
      for (let call = 0; call < CALLS; call += 1) statement.get(...args);
      quickest[index] = Math.min(quickest[index] ?? 0, performance.now() - started);
    }
  }
  return quickest.map((ms) => (ms / CALLS) * 1000);
}

/** Measures a statement and a read of the same columns by rowid, without the columns of joined tables. */
function compare(connection: Database.Database, sql: string, args: readonly unknown[]) {
  const { columns = '', table = '', alias = '' } = ROW_READ.exec(sql)?.groups ?? {};
  const own = columns.replace(alias === 'a' ? /\bt\.id AS / : '', alias === 'a' ? 'NULL AS ' : '');
  const number = connection.prepare(`SELECT max(rowid) FROM ${table}`).pluck().get();
  const byRowid = `SELECT ${own} FROM ${table} ${alias} WHERE rowid = +?`;
  const [us = Number.NaN, rowid_us = Number.NaN] = microseconds([
    { statement: connection.prepare(sql).raw(), args },
    { statement: connection.prepare(byRowid).raw(), args: [number] },
  ]);
  return { us, rowid_us, ratio: us / rowid_us };
}

/**
 * Measures each statement that reads one row for a request, as a ratio to a read of the same columns by rowid. A
 * statement that SQLite prepares again on each run costs several times as much (src/store/sqlite/file/driver.ts).
 */
export function statements(): Promise<CaseResult> {
  return withFolder(async (folder) => {
    const { file, statements: found } = await recordRequests(folder);
    const connection = new Database(file);
    const measure = (
      [sql, args]: (typeof found)[number],
      name = sql.replaceAll(/\s+/g, ' ').replace(ROW_READ, '$<table> …'),
    ) => line('statements', name, { better: 'lower', target: MAX_RATIO, ...compare(connection, sql, args) });
    try {
      const joined = found.find(([sql]) => sql.includes('CROSS JOIN'));
      if (joined === undefined) throw new Error('no statement joins tables');
      const control = measure([joined[0].replaceAll('+?', '?'), joined[1]], 'control: prepared again at each run');
      if (control.reached) throw new Error('the control did not fail: a bare parameter costs nothing here');
      const rows = [...found.map((one) => measure(one)), control];
      const title = `Reads of one row, as multiples of a read by rowid; Node ${process.versions.node}`;
      return { title, rows, failed: rows.some((row) => row !== control && !row.reached) };
    } finally {
      connection.close();
    }
  });
}
