import { setImmediate as turn } from 'node:timers/promises';
import { START } from '../../src/core/audit/audit-link.ts';
import { connectStore } from '../../src/store/postgres/connect.ts';
import type { Connections, LaneMember, Run, Transaction } from '../../src/store/postgres/connections.ts';
import { containerSets } from '../../src/store/postgres/container-sets.ts';
import { runAlone } from '../../src/store/postgres/lane-members.ts';
import { reactionTo } from '../../src/store/postgres/retry.ts';
import type { SqlClient } from '../../src/store/postgres/sql-client.ts';
import { parseStoreUrl } from '../../src/store/postgres/store-url.ts';
import { sweepMethods } from '../../src/store/postgres/sweep-row.ts';
import { tokenWrites } from '../../src/store/postgres/token-writes.ts';
import { Undo } from '../../src/store/rows/undo.ts';

/** The statements of a change, for a transaction without the lock of the audit. */
export type Work<T> = (run: Run) => Promise<T>;

/** Two connections whose transactions overlap. */
export interface RaceTrack {
  /** Runs a statement outside a transaction. */
  readonly run: Run;
  /**
   * Runs two transactions: the second begins when the first has run its statements, and the first commits when the
   * second waits for it, or has committed.
   */
  race<A, B>(first: Work<A>, second: Work<B>): Promise<readonly [A, B]>;
  close(): Promise<void>;
}

const BEGIN = { text: 'BEGIN ISOLATION LEVEL READ COMMITTED' };
const ROLLBACK = { text: 'ROLLBACK' };
const PID = { text: 'SELECT pg_backend_pid()' };
const IS_BLOCKED = { text: 'SELECT cardinality(pg_blocking_pids($1)) > 0' };

export async function openRaceTrack(url: string): Promise<RaceTrack> {
  const open = () => connectStore(parseStoreUrl(`${url}?sslmode=disable`), { timeout: 10_000 });
  const [left, right, watcher] = await Promise.all([open(), open(), open()]);
  const [row] = await right.run(PID);
  const pid = Number(row?.[0]);

  async function begin<T>(client: SqlClient, work: Work<T>): Promise<{ readonly result: T; end(): Promise<void> }> {
    await client.run(BEGIN);
    try {
      return { result: await work(client.run), end: () => client.commit() };
    } catch (error) {
      await client.run(ROLLBACK);
      if (reactionTo(error, 'write') === 'again') return begin(client, work);
      if (!(error instanceof Undo)) throw error;
      return { result: error.result, end: async () => undefined };
    }
  }

  return {
    run: watcher.run,

    async race(first, second) {
      const opened = await begin(left, first);
      let isOver = false;
      const other = begin(right, second)
        .then(async ({ result, end }) => {
          await end();
          return result;
        })
        .finally(() => {
          isOver = true;
        });
      // Keep a failure for the caller, who waits for it later.
      other.catch(() => undefined);
      while (!isOver && (await watcher.run(IS_BLOCKED, [pid]))[0]?.[0] !== true) await turn();
      await opened.end();
      return [opened.result, await other];
    },

    async close() {
      await Promise.all([left.close(), right.close(), watcher.close()]);
    },
  };
}

const unused = () => Promise.reject(new Error('not used here'));
/** Connections whose reads and writes reject. */
const UNUSED: Connections = {
  read: unused,
  readSlow: unused,
  readSnapshot: unused,
  inspectSnapshot: unused,
  change: unused,
  changeTokens: unused,
  join: unused,
  ping: unused,
  close: unused,
};

type Writes = ReturnType<typeof tokenWrites>;
type Changes = ReturnType<typeof sweepMethods> & Writes;

/** Returns the lane member by which the store would make a change. */
export async function memberOf<T>(call: (writes: Writes) => Promise<T>): Promise<LaneMember<T>> {
  const { promise, resolve } = Promise.withResolvers<LaneMember<never>>();
  const join: Connections['join'] = (member) => {
    resolve(member as LaneMember<never>);
    return new Promise(() => undefined);
  };
  call(tokenWrites({ ...UNUSED, join }, containerSets(UNUSED))).catch(() => undefined);
  return promise;
}

/** Returns the statements of a lane member, which writes no entry. */
export function workOf<T>(member: LaneMember<T>): Work<T> {
  return async (run) => runAlone(transactionOf(run), member);
}

/** Returns a transaction that writes neither entries nor replies. */
export function transactionOf(run: Run): Transaction {
  const nothing = async () => undefined;
  return {
    run,
    entries: [],
    append: async () => START,
    record: nothing,
  };
}

/** Returns the statements of a change that runs alone, without those for the audit and the replies. */
export function changeOf<T>(call: (changes: Changes) => Promise<T>): Work<T> {
  return (run) => {
    const change: Connections['change'] = (work) => work(transactionOf(run));
    const join: Connections['join'] = (member) => change((transaction) => runAlone(transaction, member));
    const connections: Connections = { ...UNUSED, readSlow: run, change, changeTokens: change, join };
    const writes = tokenWrites(connections, containerSets(connections));
    return call({ ...writes, ...sweepMethods(connections, writes) });
  };
}
