import { isDamage } from '../../core/problem.ts';

/** Resolves to the result of `read`, or to undefined if it rejects with `integrity_failure`. */
export async function unlessDamaged<T>(read: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (isDamage(error)) return undefined;
    throw error;
  }
}
