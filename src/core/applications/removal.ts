import type { Removal } from '../application-ports.ts';
import type { TenantKeyring } from '../ports.ts';
import { isDamage } from '../problem.ts';
import { openApplication } from './application-codec.ts';
import { checkApplicationKey } from './application-key-codec.ts';

/** Returns the removal of applications of the keyring's tenant. */
export function createRemoval(keyring: TenantKeyring, entry: Removal['entry']): Removal {
  return {
    isGenuine(record) {
      try {
        if ('hash' in record) checkApplicationKey(keyring, record);
        else openApplication(keyring, record.id, record);
        return true;
      } catch (error) {
        if (isDamage(error)) return false;
        throw error;
      }
    },
    entry,
  };
}
