import type { Client } from '../../contract/call.ts';
import type { VaultLocation } from '../../vault/location.ts';
import { readCredential } from '../credential/read-credential.ts';
import { damagedAudit } from '../exit/damaged-audit.ts';
import { archiveFiles } from '../files/archive-file.ts';
import {
  type Environment,
  FLAGS,
  flagValue,
  flagValues,
  type GlobalFlags,
  type HolderFlags,
} from '../flags/global-flags.ts';

/** Opens the log of a vault for the holder of its key. `readsAll` is true for --all. */
export async function openHolder(
  location: VaultLocation,
  flags: GlobalFlags & HolderFlags,
  env: Environment,
  readsAll: boolean,
): Promise<Client> {
  const archives = archiveFiles(flagValues(flags.archive, env, FLAGS.archive.archive));
  const credential = await readCredential(location, flags, env);
  const { openHolderLog } = await import('../../vault/holder-log.ts');
  const client = await openHolderLog(
    { ...location, credential },
    {
      tenant: flagValue(flags.tenant, env, FLAGS.tenant.tenant),
      anchor: flagValue(flags.anchor, env, FLAGS.anchor.anchor),
      archives,
      readsAll,
    },
  );
  return { ...client, call: (call) => client.call(call).catch(damagedAudit) };
}
