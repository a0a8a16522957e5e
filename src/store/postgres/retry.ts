import { Fault } from '../../core/fault.ts';
import { Problem } from '../../core/problem.ts';
import { runningTime, sleep } from '../../core/timers.ts';
import { RETRIES } from '../rows/channels.ts';
import { PgError, type Treatment, toProblem, treatmentOf } from './pg-error.ts';

/** How long a call waits for the database or for a lock, in milliseconds. */
export const DEADLINE_MS = 5000;

const MAX_PAUSE_MS = 40;

/** Waits longer after each failure. The time is random, so that two processes do not collide again. */
export async function pause(failures: number): Promise<void> {
  RETRIES.publish(undefined);
  await sleep(Math.min(2 ** failures, MAX_PAUSE_MS) * (0.5 + Math.random() / 2));
}

/** Returns the reaction to the failure of a connection or a statement; undefined for any other error. */
export function reactionTo(error: unknown, use: 'read' | 'write'): Treatment['reaction'] | undefined {
  if (error instanceof PgError) return treatmentOf(error, use).reaction;
  if (!(error instanceof Fault)) return undefined;
  return error.code === 'store_unreachable' ? 'reconnect' : 'fail';
}

/** Returns the error for the caller. */
export function finalError(error: unknown, use: 'read' | 'write'): unknown {
  if (error instanceof PgError) return toProblem(error, use);
  if (!(error instanceof Fault)) return error;
  const { cause } = error;
  const isRefused = cause instanceof PgError && treatmentOf(cause, use).problem === 'vault_busy';
  return isRefused ? toProblem(cause, use) : new Problem('vault_busy', { cause: error, retryAfter: 1 });
}

export function stopping(): Problem {
  return new Problem('vault_stopping', { retryAfter: 1 });
}

/** Runs a read. Repeats it until the deadline while the connection is lost or the server is busy. */
export async function retryRead<T>(
  read: () => Promise<T>,
  dropAll: () => void,
  { use = 'read', deadlineMs = DEADLINE_MS }: { readonly use?: 'read' | 'write'; readonly deadlineMs?: number } = {},
): Promise<T> {
  const deadline = runningTime() + deadlineMs;
  for (let failures = 1; ; failures++) {
    try {
      return await read();
    } catch (error) {
      const reaction = reactionTo(error, use);
      if (reaction === 'new_hosts') dropAll();
      if (reaction === undefined || reaction === 'fail' || runningTime() > deadline) throw finalError(error, use);
      await pause(failures);
    }
  }
}
