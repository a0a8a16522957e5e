import type { ProblemCode } from '../contract/problems.ts';
import { errorCode } from '../core/fault.ts';
import type { Instant, Store } from '../core/ports.ts';
import { Problem } from '../core/problem.ts';
import { MachineDate } from '../core/timers.ts';

/** The methods that write for calls and sweeps. */
const WRITES = [
  'insertTenant',
  'replaceTenant',
  'deleteTenant',
  'insertApplication',
  'replaceApplication',
  'deleteApplication',
  'insertApplicationKey',
  'deleteApplicationKey',
  'markKeysUsed',
  'insertToken',
  'insertTokens',
  'replaceToken',
  'deleteToken',
  'markActive',
  'appendAudit',
  'indexLog',
  'removeOldReplies',
] as const satisfies readonly (keyof Store)[];

const FAILING: ReadonlySet<ProblemCode> = new Set(['disk_error', 'read_only']);

/** The SQLSTATE of a PostgreSQL server that has no connection left. */
const TOO_MANY_CLIENTS = '53300';

/**
 * Returns the store with writes that are watched, and functions that report whether they fail: a failing disk or a
 * database without a free connection still answers reads. A write that succeeds ends this. A full disk is not among
 * the failures.
 */
export function watchWrites(store: Store, now: () => Instant) {
  let failing: { readonly since: Instant; readonly code: ProblemCode } | undefined;

  function watched(name: (typeof WRITES)[number]) {
    return async (...values: readonly unknown[]) => {
      try {
        const write = store[name] as (...values: readonly unknown[]) => Promise<unknown>;
        const result = await write(...values);
        failing = undefined;
        return result;
      } catch (error) {
        if (error instanceof Problem && (FAILING.has(error.code) || errorCode(error.cause) === TOO_MANY_CLIENTS)) {
          failing = { since: failing?.since ?? now(), code: error.code };
        }
        throw error;
      }
    };
  }

  return {
    store: { ...store, ...Object.fromEntries(WRITES.map((name) => [name, watched(name)])) },
    isWritable: () => failing === undefined,
    /** Throws the last problem with the time of the first failure, for `/readyz`. */
    assertWritable(): void {
      if (failing === undefined) return;
      const detail = `Writes fail since ${new MachineDate(failing.since).toISOString()}.`;
      throw new Problem(failing.code, { detail, retryAfter: 1 });
    },
  };
}
