import type { Connections, LaneMember, Run, Transaction } from '../../src/store/postgres/connections.ts';
import { containerSets } from '../../src/store/postgres/container-sets.ts';
import { runAlone } from '../../src/store/postgres/lane-members.ts';
import { sweepMethods } from '../../src/store/postgres/sweep-row.ts';
import { tokenWrites } from '../../src/store/postgres/token-writes.ts';

/** The statements of a change, for a transaction without the lock of the audit. */
export type Work<T> = (run: Run) => Promise<T>;

const unused = () => Promise.reject(new Error('not used here'));
/** Connections whose reads and writes reject. */
const UNUSED: Connections = {
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
    append: nothing,
    record: nothing,
  };
}

/** Returns the statements of a change that runs alone, without those for the audit and the replies. */
export function changeOf<T>(call: (changes: Changes) => Promise<T>): Work<T> {
  return (run) => {
    const change: Connections['change'] = (work) => work(transactionOf(run));
    const join: Connections['join'] = (member) => change((transaction) => runAlone(transaction, member));
    const connections: Connections = { ...UNUSED, readSlow: run, change, join };
    return call({ ...tokenWrites(connections, containerSets(connections)), ...sweepMethods(connections) });
  };
}
