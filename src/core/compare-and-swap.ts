import { Problem } from './problem.ts';

const MAX_TRIES = 20;

/**
 * Runs `attempt` until it resolves to a result, and resolves to that result. Each attempt reads the record again and
 * resolves to undefined if another caller changed the record. Rejects with `write_conflict` after `mostTries` attempts.
 */
export async function untilSwapped<T>(attempt: () => Promise<T | undefined>, mostTries = MAX_TRIES): Promise<T> {
  for (let tries = 0; tries < mostTries; tries++) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw new Problem('write_conflict');
}
