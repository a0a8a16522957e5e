import type { Client } from 'pg';
import type { Instant } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import { nextTick } from '../../core/timers.ts';
import type { Fragment, Scalar, SqlParameter } from '../rows/fragment.ts';
import type { Row } from '../rows/store-steps.ts';
import { PgError, toPgError } from './pg-error.ts';
import { PATH_COLUMNS, requireSearchPath } from './search-path.ts';

/** A statement with parameters $1, $2, …. If it has a name, the server prepares it once for each connection. */
export interface NamedStatement {
  readonly name?: string | undefined;
  readonly text: string;
}

/** Returns named statements: each member is the text of the statement with its name, which no other module may use. */
export function named<Name extends string>(texts: Readonly<Record<Name, string>>) {
  const statements = Object.entries<string>(texts).map(([name, text]) => [name, { name, text }]);
  return Object.fromEntries(statements) as Readonly<Record<Name, NamedStatement>>;
}

/** A statement, or the text of one without a name. */
export type Statement = NamedStatement | string;

/** Replaces each `?` of a statement by $1, $2, …. */
export function numbered(text: string): string {
  let count = 0;
  return text.replaceAll('?', () => `$${++count}`);
}

/** Returns an unnamed statement, which PostgreSQL plans for its values. */
export function toBound({ sql, params }: Fragment): readonly [text: string, values: readonly SqlParameter[]] {
  return [numbered(sql), params];
}

export function firstValue([row]: readonly Row[]): unknown {
  return row?.[0];
}

/** The time of the database in milliseconds. */
export const NOW = '(extract(epoch FROM pg_catalog.clock_timestamp()) OPERATOR(pg_catalog.*) 1000)::bigint';

const CLOCK: Statement = { name: 'clock', text: `SELECT ${NOW}, ${PATH_COLUMNS}` };

/** Resolves to the time of the database. Rejects with the fault `store_refused` if the search_path has changed. */
export async function readClock({ run }: Pick<SqlClient, 'run'>): Promise<Instant> {
  const [[now, ...path] = []] = await run(CLOCK);
  requireSearchPath(path, 'the store');
  return Number(now);
}

/** Returns a stored array. Throws `integrity_failure` for any other value. */
export function storedList(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new Problem('integrity_failure');
  return value;
}

/** Returns a list for each of these members of the rows, as parameters of statements with lists. */
export function listsOf<Name extends string>(
  rows: readonly Readonly<Record<NoInfer<Name>, Scalar>>[],
  ...names: readonly Name[]
): readonly (readonly Scalar[])[] {
  return names.map((name) => rows.map((row) => row[name]));
}

/** A connection whose statements do not wait for each other's answers. Those of one tick are sent in one write. */
export interface SqlClient {
  /**
   * Sends a statement; resolves to its rows, to none for several statements. Their columns: text, numbers (`bigint`,
   * too), booleans, Buffers, null, arrays of them; other types as text. Rejects with a `PgError`.
   */
  run(statement: Statement, values?: readonly SqlParameter[]): Promise<readonly Row[]>;
  /** Sends COMMIT. Rejects with 40000 after a failed statement: the server then rolls back without an error. */
  commit(): Promise<void>;
  /** Resolves when the connection has ended: to the error, or to undefined after `close`. */
  readonly ended: Promise<PgError | undefined>;
  /** Waits for the pending answers, then ends the connection. */
  close(): Promise<void>;
  /** Cuts the connection; waiting statements reject. */
  destroy(): void;
}

/** The type id of `bigint`. A number that a double cannot hold is rejected where it is read (`storedNumber`). */
const INT8 = 20;
const COMMIT = 'COMMIT';
const TRANSACTION_ROLLED_BACK = '40000';

interface Answer {
  readonly command: string;
  readonly rows: readonly Row[];
}

/**
 * Wraps a client in pipeline mode before it connects: the server may end the connection at once. It must have a
 * `query_timeout`, which ends the connection.
 */
export function sqlClient(client: Client): SqlClient {
  const ended = Promise.withResolvers<PgError | undefined>();
  let closing = false;
  let isCorked = false;
  let failure: PgError | undefined;
  client.setTypeParser(INT8, Number);
  client.on('error', (error) => {
    failure ??= toPgError(error);
  });
  client.on('end', () => ended.resolve(closing ? undefined : (failure ?? toPgError(undefined))));

  /** Keeps what is written until the current promise callbacks have run. */
  function cork(): void {
    if (isCorked) return;
    isCorked = true;
    // With TLS, the stream is replaced while the client connects.
    const { stream } = client.connection;
    stream.cork();
    nextTick(() => {
      isCorked = false;
      stream.uncork();
    });
  }

  function ask(statement: Statement, values: readonly SqlParameter[] = []): Promise<Answer> {
    const { name, text } = typeof statement === 'string' ? { name: undefined, text: statement } : statement;
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const query = { text, values: [...values], rowMode: 'array' as const, ...(name !== undefined && { name }) };
    cork();
    // Use a callback, because the driver's promises rewrite the stack of each error.
    client.query(query, (error: Error | null, answer: Answer) => (error ? reject(toPgError(error)) : resolve(answer)));
    return promise;
  }

  return {
    ended: ended.promise,

    async run(statement, values) {
      return (await ask(statement, values)).rows ?? [];
    },

    async commit() {
      const { command } = await ask(COMMIT);
      if (command !== 'COMMIT') throw new PgError(TRANSACTION_ROLLED_BACK);
    },

    async close() {
      closing = true;
      await client.end();
    },

    destroy: () => void client.connection.stream.destroy(),
  };
}
