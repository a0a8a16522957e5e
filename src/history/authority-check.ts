import { addDigests } from '../core/audit/digest.ts';
import { addedBy, type FollowKeys } from '../core/audit/follow-rows.ts';
import { isOfAuthority } from '../core/audit/record-digest.ts';
import { digestOfState, type LogState } from '../core/audit/sums.ts';
import type { PositionedEvent } from '../core/audit/walk-audit.ts';

/**
 * Returns a check of the digests and of the rows of authority that the witnesses name, from a row on with the state
 * `state`. It gets all events in order, each before the sums. Only a holder of the key can write a wrong one, or a faulty
 * version of the vault: no process could then open the vault, so doctor must name the row.
 */
export function createAuthorityCheck(keyring: FollowKeys, from: number, state: LogState) {
  let digest = digestOfState(keyring, state);
  const rows = [state.authority];

  /** Returns the last row of authority up to a row. */
  function lastUpTo(sequence: number): number | undefined {
    return rows.findLast((row) => row <= sequence);
  }

  return {
    /** Returns what is wrong with the row of an event; undefined if nothing is. `sumOf` is that of a tenant before it. */
    next(positioned: PositionedEvent, sumOf: (tenantId: string) => bigint): string | undefined {
      const { n, sequence, event, witness } = positioned;
      const isOwn = isOfAuthority(event);
      if (n === 1 && witness.sequence >= from && lastUpTo(witness.sequence) !== witness.authority) {
        return `names row ${witness.authority}, which is not the last change of authority before it`;
      }
      if (isOwn !== (positioned.digest !== undefined)) {
        return isOwn ? 'changes authority, but has no digest' : 'has a digest, but changes no authority';
      }
      if (positioned.digest === undefined) return undefined;
      const expected = addDigests(digest, addedBy(keyring, [event], sumOf));
      digest = positioned.isLast ? positioned.digest : expected;
      if (!positioned.isLast) return undefined;
      rows.push(sequence);
      if (witness.sequence !== sequence - 1) return 'is not the row that was written at its position';
      return digest === expected ? undefined : 'contradicts the entries before it';
    },
  };
}
