import { Rollback } from '../rows/rollback.ts';
import { openTransaction } from './audit-head.ts';
import type { Change, Connections, Run } from './connections.ts';
import { runAlone } from './queued-writes.ts';
import type { SqlClient } from './sql-client.ts';

const SAVE = 'SAVEPOINT change';
const UNDO = 'ROLLBACK TO SAVEPOINT change';

/**
 * Returns connections that run every call inside the open transaction of one client, one call after the other. Other
 * processes then see the first rows of a vault all at once. Does not convert the errors of PostgreSQL.
 */
export function soleConnection(client: SqlClient): Connections {
  const run: Run = client.run;
  let last: Promise<unknown> = Promise.resolve();

  function inQueue<T>(work: () => Promise<T>): Promise<T> {
    const working = last.then(work, work);
    last = working;
    return working;
  }

  async function saved<T>(work: () => Promise<T>): Promise<T> {
    await run(SAVE);
    try {
      return await work();
    } catch (error) {
      await run(UNDO);
      if (error instanceof Rollback) return error.result as T;
      throw error;
    }
  }

  const change = <T>(work: Change<T>): Promise<T> => inQueue(() => saved(async () => work(openTransaction(run))));

  const snapshot: Connections['readSnapshot'] = (query) => inQueue(() => query(run));

  return {
    read: run,
    readSlow: run,
    readSnapshot: snapshot,
    inspectSnapshot: snapshot,
    change,
    join: (write) => change((transaction) => runAlone(transaction, write)),
    ping: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}
