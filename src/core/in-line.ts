import { Problem } from './problem.ts';

/**
 * Returns a function that runs tasks of one name one after another, in the order of the calls; tasks of other names do
 * not wait. A failed task does not stop the next one. A task that waited longer than `maxWait` milliseconds rejects
 * with `vault_busy` and does not run, because its caller's permissions may have changed.
 */
export function createLines(maxWait: number) {
  const last = new Map<string, Promise<unknown>>();

  return async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const before = last.get(name);
    const called = performance.now();
    const start = () => {
      if (performance.now() - called > maxWait) throw new Problem('vault_busy');
      return work();
    };
    const running = before === undefined ? work() : before.then(start, start);
    last.set(name, running);
    try {
      return await running;
    } finally {
      if (last.get(name) === running) last.delete(name);
    }
  };
}
