import { withFreshKeys } from '../core/fresh-keys.ts';
import type { KeyHolder } from './key-holder.ts';

/**
 * Follows the log and then runs a change of authority, whose entry is sealed behind the last row: rows that are not
 * followed yet would be opened while all writers wait. Repeats a change that other processes refute meanwhile, as
 * `withFreshKeys` does. Rejects with `write_conflict` if all attempts fail.
 */
export function changeAuthority<T>(
  { follower, keyring }: Pick<KeyHolder, 'follower' | 'keyring'>,
  change: () => Promise<T>,
): Promise<T> {
  return withFreshKeys(keyring, async () => {
    await follower.follow();
    return change();
  });
}
