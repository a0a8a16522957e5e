import { Problem } from './problem.ts';

const MAX_TRIES = 20;

/**
 * Runs `attempt` until it gives a result. An attempt reads the record anew and gives undefined when somebody else changed
 * it in between. Throws `write_conflict` when that goes on.
 */
export async function untilSwapped<T>(attempt: () => Promise<T | undefined>, mostTries = MAX_TRIES): Promise<T> {
  for (let tries = 0; tries < mostTries; tries++) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw new Problem('write_conflict');
}
