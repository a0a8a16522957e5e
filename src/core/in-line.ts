import { Problem } from './problem.ts';

/**
 * Runs works of one name one after the other, in the order of the calls; those of other names do not wait. A work that fails
 * does not stop the next. One that has waited longer than `maxWait` milliseconds rejects with `vault_busy` and does not run:
 * what its caller was allowed may have changed.
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
