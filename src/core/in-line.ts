import { Problem } from './problem.ts';
import { runningTime } from './running-time.ts';

/**
 * Returns a function that runs tasks of one name one after another, in the order of the calls; tasks of other names do
 * not wait. A failed task does not stop the next one. A task may call `pass` to start the next one before it ends. A
 * task that waited longer than `maxWait` milliseconds rejects with `vault_busy` and does not run, because its caller's
 * permissions may have changed.
 */
export function createLines(maxWait = 5_000) {
  const last = new Map<string, Promise<void>>();

  return async <T>(name: string, work: (pass: () => void) => Promise<T>): Promise<T> => {
    const before = last.get(name);
    const { promise: turn, resolve: pass } = Promise.withResolvers<void>();
    last.set(name, turn);
    try {
      if (before !== undefined) {
        const called = runningTime();
        await before;
        if (runningTime() - called > maxWait) throw new Problem('vault_busy');
      }
      return await work(pass);
    } finally {
      pass();
      if (last.get(name) === turn) last.delete(name);
    }
  };
}
