import { withFreshKeys } from '../../core/fresh-keys.ts';
import type { KeyHolder } from '../key-holder.ts';

/**
 * Follows the log, then runs a change of authority. The change opens rows that are not followed yet while all writers
 * wait, so few of them may be left. Refreshes the keys and repeats both after a conflict with another process, as
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
