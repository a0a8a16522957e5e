import type { Connections, QueuedWrite, Run, Transaction } from '../../src/store/postgres/connections.ts';
import { containerSets } from '../../src/store/postgres/container-sets.ts';
import { runAlone } from '../../src/store/postgres/queued-writes.ts';
import { tokenWrites } from '../../src/store/postgres/token-writes.ts';

/** The statements of a change, for a transaction without the lock of the audit. */
export type Work<T> = (run: Run) => Promise<T>;

const unused = () => Promise.reject(new Error('not used here'));
/** Connections whose reads and writes reject. */
export const UNUSED: Connections = {
  read: unused,
  readSlow: unused,
  readSnapshot: unused,
  inspectSnapshot: unused,
  change: unused,
  join: unused,
  ping: unused,
  close: unused,
};

type Writes = ReturnType<typeof tokenWrites>;

/** Returns the queued write by which the store would make a change. */
export async function writeOf<T>(call: (writes: Writes) => Promise<T>): Promise<QueuedWrite<T>> {
  const { promise, resolve } = Promise.withResolvers<QueuedWrite<never>>();
  const join: Connections['join'] = (write) => {
    resolve(write as QueuedWrite<never>);
    return new Promise(() => undefined);
  };
  call(tokenWrites({ ...UNUSED, join }, containerSets(UNUSED))).catch(() => undefined);
  return promise;
}

/** Returns the statements of a queued write, which adds no entry. */
export function workOf<T>(write: QueuedWrite<T>): Work<T> {
  return async (run) => runAlone(transactionOf(run), write);
}

/** Returns a transaction that writes neither entries nor replies. */
export function transactionOf(run: Run): Transaction {
  const nothing = async () => undefined;
  return {
    run,
    entries: [],
    append: nothing,
    record: nothing,
  };
}

/** Returns the statements of a change that runs alone, without those for the audit and the replies. */
export function changeOf<T>(call: (writes: Writes) => Promise<T>): Work<T> {
  return (run) => {
    const change: Connections['change'] = (work) => work(transactionOf(run));
    const join: Connections['join'] = (write) => change((transaction) => runAlone(transaction, write));
    return call(tokenWrites({ change, join }, containerSets(UNUSED)));
  };
}
