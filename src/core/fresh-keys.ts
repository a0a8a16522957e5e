import type { Keyring } from './ports.ts';
import { Problem } from './problem.ts';
import { runSteps, type Steps, settled } from './steps.ts';

/**
 * The maximum number of attempts. A rotation adds a data key and then an index key; one call may meet both changes, and
 * the end of an earlier rotation.
 */
const MAX_TRIES = 4;

/**
 * Returns the result of `work`. Repeats it with the current keys when it failed and another process may have rotated
 * them (`mayBeStale`).
 */
export function* freshKeySteps<T>(keyring: Pick<Keyring, 'refresh'>, work: () => Steps<T>): Steps<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return yield* work();
    } catch (error) {
      if (tries === MAX_TRIES || !mayBeStale(error)) throw error;
    }
    yield* settled(keyring.refresh());
  }
}

/** Resolves to the result of `work`, like `freshKeySteps`. */
export async function withFreshKeys<T>(keyring: Pick<Keyring, 'refresh'>, work: () => Promise<T>): Promise<T> {
  return runSteps(freshKeySteps(keyring, () => settled(work())));
}

/**
 * Returns whether the call may succeed with newer keys. A rotation during a call has two effects: a record cannot be
 * decrypted, or the store rejects a record sealed with the old keys. Repeating a change is safe: the change has not
 * happened yet, or it is a merge patch with the same result. A conflict that names members is the caller's: its body
 * comes from an older record.
 */
export function mayBeStale(error: unknown): boolean {
  if (!(error instanceof Problem)) return false;
  return error.code === 'integrity_failure' || (error.code === 'write_conflict' && error.errors === undefined);
}
