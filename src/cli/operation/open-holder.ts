import type { Client } from '../../contract/call.ts';
import type { VaultLocation } from '../../vault/location.ts';
import { readCredential } from '../credential/read-credential.ts';
import { damagedAudit } from '../exit/damaged-audit.ts';
import { archiveFiles } from '../files/archive-file.ts';
import { FLAGS, type Line, readFlags } from '../flags/global-flags.ts';

/** Opens the log of a vault for the holder of its key. `readsAll` is true for --all. */
export async function openHolder(location: VaultLocation, line: Line, readsAll: boolean): Promise<Client> {
  const { tenant, anchor, archive } = readFlags({ ...FLAGS.tenant, ...FLAGS.anchor, ...FLAGS.archive }, line);
  const archives = archiveFiles(archive);
  const credential = await readCredential(location, line);
  const { openHolderLog } = await import('../../vault/holder-log.ts');
  const client = await openHolderLog({ ...location, credential }, { tenant, anchor, archives, readsAll });
  return { ...client, call: (call) => client.call(call).catch(damagedAudit) };
}
