import { createFollower, type Follower } from '../../core/audit/follower.ts';
import { isError } from '../../core/fault.ts';
import { Problem } from '../../core/problem.ts';
import type { KeyHolder } from '../key-holder.ts';

/** Returns a sentence about each closed tenant: a tenant whose calls fail because its records differ from the audit. */
export function closedNotices(follower: Pick<Follower, 'closedTenants'>): readonly string[] {
  return follower.closedTenants().map((id) => {
    const way = `restore a backup, or accept the records with \`vault tenant accept --tenant ${id}\``;
    return `every call of tenant ${id} fails, because its records differ from the audit: run \`vault doctor\`, then ${way}`;
  });
}

/** Rejects with a problem that says why every call fails, if the audit or the header was altered. */
export async function requireSoundLog(follower: Pick<Follower, 'follow'>): Promise<void> {
  try {
    await follower.follow();
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'integrity_failure' || !isError(error.cause)) throw error;
    const detail = `Every call fails: ${error.cause.message}. Run \`vault doctor\`, then restore a backup.`;
    throw new Problem('integrity_failure', { detail, cause: error.cause });
  }
}

/** Resolves to sentences about the calls that fail because the vault was altered. */
export async function failingCalls(parts: Pick<KeyHolder, 'store' | 'keyring'>): Promise<readonly string[]> {
  const follower = createFollower(parts);
  try {
    await requireSoundLog(follower);
  } catch (error) {
    if (error instanceof Problem && error.code === 'integrity_failure') return [error.detail];
    throw error;
  }
  return closedNotices(follower);
}
