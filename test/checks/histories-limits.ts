import type { Judgement } from './histories-shadow.ts';

/**
 * Returns whether SECURITY.md documents that `vault doctor` accepts the damage without an anchor and archives. The
 * oracle itself accepts an older state of the whole vault.
 */
export function isBeyondPromise({ entry, isUnwitnessed, changes, records }: Judgement): boolean {
  // An entry that no later one names can vanish, as the end of the audit can.
  if (isUnwitnessed === true) return true;
  if (entry !== undefined || changes.length > 0) return false;
  // "What only pruned entries recorded": the remains of an earlier deleted token.
  return records.every(({ key, is, isPruned }) => key.startsWith('tombstone ') && is === 'missing' && isPruned);
}

/**
 * Returns whether doctor is known to accept the damage, against SECURITY.md. Such misses are counted, and do not fail
 * the check.
 */
export function isKnownMiss({ entry, isPruned = false, changes, records }: Judgement): boolean {
  // Entries that a prune had removed are not read, so that nothing notices when some of them return.
  return entry !== undefined && isPruned && changes.length === 0 && records.length === 0;
}
