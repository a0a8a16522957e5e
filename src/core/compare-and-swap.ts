import { Problem } from './problem.ts';

const MAX_TRIES = 20;

/**
 * Runs `attempt` until it returns a result. Each attempt reads the record again and returns undefined if another caller
 * changed it. Throws `write_conflict` after too many attempts.
 */
export async function untilSwapped<T>(attempt: () => Promise<T | undefined>, mostTries = MAX_TRIES): Promise<T> {
  for (let tries = 0; tries < mostTries; tries++) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw new Problem('write_conflict');
}
