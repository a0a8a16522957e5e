import type { ProblemCode } from '../../contract/problems.ts';
import { type MemberErrors, Problem } from '../problem.ts';

/** The maximum number of reported paths. A caller needs only a few of them. */
const MAX_PATHS = 100;

/** Creates a collector that combines the errors in the parts of a body into one problem, for at most `most` paths. */
export function createErrors(code: ProblemCode, most = MAX_PATHS) {
  const errors = new Map<string, readonly string[]>();

  function add(path: string, ...messages: readonly string[]): void {
    const name = path === '' ? 'body' : path;
    if (errors.size < most) errors.set(name, [...(errors.get(name) ?? []), ...messages]);
  }

  return {
    get isEmpty(): boolean {
      return errors.size === 0;
    },
    get isFull(): boolean {
      return errors.size >= most;
    },
    add,
    /** Adds the errors of a problem with this code, under the path of the part. Returns false for any other error. */
    take(path: string, error: unknown): boolean {
      if (!(error instanceof Problem) || error.code !== code) return false;
      const found: MemberErrors = error.errors ?? { '': [error.detail] };
      for (const [name, messages] of Object.entries(found)) add([path, name].filter(Boolean).join('.'), ...messages);
      return true;
    },
    throwIfAny(): void {
      // Without a prototype `__proto__` is a plain member.
      if (errors.size > 0)
        throw new Problem(code, { errors: Object.assign(Object.create(null), Object.fromEntries(errors)) });
    },
  };
}

/** Adds the errors of a problem to the collector with its code, under the path of the part. Rethrows any other error. */
export function collectErrors(path: string, error: unknown, ...all: readonly ReturnType<typeof createErrors>[]): void {
  if (!all.some((errors) => errors.take(path, error))) throw error;
}
