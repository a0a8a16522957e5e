import type { VaultRows } from './histories-rows.ts';
import type { Judgement } from './histories-shadow.ts';

/**
 * Returns whether SECURITY.md documents that `vault doctor` accepts the damage without an anchor and archives. The
 * oracle itself accepts an older state of the whole vault.
 */
export function isBeyondPromise({ isUnwitnessed, changes, records }: Judgement, now: VaultRows): boolean {
  // The deletion of a tenant forgets what contradicted its tokens.
  const isForgotten = ({ key }: { readonly key: string }) => {
    const [kind = '', tenant] = key.split(' ');
    return ['token', 'tombstone'].includes(kind) && !now.records.has(`tenant ${tenant}`);
  };
  // An entry that no later one names can vanish, as the end of the audit can.
  return isUnwitnessed === true || (records.length === 0 && changes.length > 0 && changes.every(isForgotten));
}
