import type { Judgement } from './histories-shadow.ts';

/**
 * Returns whether SECURITY.md documents that `vault doctor` accepts the damage without an anchor and archives. The
 * oracle itself accepts an older state of the whole vault.
 */
export function isBeyondPromise({ isUnwitnessed }: Judgement): boolean {
  // An entry that no later one names can vanish, as the end of the audit can.
  return isUnwitnessed === true;
}
