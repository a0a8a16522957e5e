import type { ApplicationKeyRecord, EndedApplications, Removal } from '../application-ports.ts';
import type { Follower } from '../audit/follower.ts';
import type { AuthorityDraft } from '../audit/ports.ts';
import type { ApplicationRecord, TenantKeyring } from '../ports.ts';
import { decoded, Problem } from '../problem.ts';
import { checkApplicationKey, openApplication } from './application-codec.ts';

interface RemovalParts {
  readonly keyring: TenantKeyring;
  readonly follower: Pick<Follower, 'follow' | 'isKnown'>;
}

/**
 * Runs a removal of applications or keys. It leaves rows that do not open with their seals, and rows that the audit does
 * not know: somebody put them back. A row may be newer than what this process knows. The removal then begins again, after
 * the process has followed the audit.
 */
export async function removeWith<T>(
  { keyring, follower }: RemovalParts,
  entry: (ended: EndedApplications) => AuthorityDraft,
  remove: (removal: Removal) => Promise<T>,
): Promise<T> {
  /** Rows that were not known when they were read, before the process followed the audit. */
  const met = new Set<string>();
  for (;;) {
    await follower.follow();
    let isUnsure = false;
    const removal: Removal = {
      isGenuine(record) {
        const table = 'hash' in record ? 'application_key' : 'application';
        if (!opens(keyring, record)) return false;
        if (follower.isKnown(table, record)) return true;
        if (met.has(record.id)) return false;
        met.add(record.id);
        isUnsure = true;
        return true;
      },
      entry(ended) {
        if (isUnsure) throw new Problem('write_conflict');
        return entry(ended);
      },
    };
    try {
      return await remove(removal);
    } catch (error) {
      if (!isUnsure) throw error;
    }
  }
}

function opens(keyring: TenantKeyring, record: ApplicationRecord | ApplicationKeyRecord): boolean {
  const opened = decoded(() =>
    'hash' in record ? checkApplicationKey(keyring, record) : openApplication(keyring, record.id, record),
  );
  return opened !== undefined;
}
