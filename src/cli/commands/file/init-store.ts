import { Fault } from '../../../core/fault.ts';
import { type Printable, stringifyJson } from '../../../core/json/stringify.ts';
import type { StoreLocation } from '../../../vault/location.ts';
import type { CreateStoreVaultOptions } from '../../../vault/store-vault.ts';
import { canPrompt } from '../../credential/prompt.ts';
import { namedCredential } from '../../credential/read-credential.ts';
import { report } from '../../exit/report-failure.ts';
import { askNewCredential, type NewCredential, provideNamed } from '../keys/new-credential.ts';
import type { CommandLine } from '../printing.ts';

/**
 * `vault init --store`: creates the tables of a vault, its key file if it is missing, its first tenant and the
 * management application of this tenant. Leaves nothing behind when it fails.
 */
export async function initStore(
  line: CommandLine,
  store: StoreLocation,
  options: Omit<CreateStoreVaultOptions, 'store' | 'credential'>,
): Promise<string> {
  const { createStoreVault, hasVault } = await import('../../../vault/store-vault.ts');
  requireNamed(line);
  if (await hasVault(store))
    throw new Fault('conflict', `${store.url.shown} holds a vault in this schema`, { hint: HINT });
  const { credential, removeKeyFile } = await newCredential(line, options.weakPassphrase);
  try {
    const { tenant, application } = await createStoreVault({ store, credential, ...options });
    if (canPrompt()) report(`wrote ${store.url.whole}`, 'keep a copy of the key: without it nobody can read the vault');
    const shown = { store: store.url.whole, tenant: tenant as Printable, application: application as Printable };
    return stringifyJson(shown);
  } catch (error) {
    // Keep the key file if another command has created this vault with it meanwhile.
    if (!(await hasVault(store).catch(() => true))) await removeKeyFile();
    throw error;
  }
}

const HINT = 'name another schema with ?schema=NAME; existing vaults are never changed';

/** Throws the fault `credential_missing`: a database has no default key file. */
function requireNamed({ flags, env }: CommandLine): void {
  if (Object.keys(namedCredential(flags, env)).length > 0) return;
  throw new Fault('credential_missing', 'a database has no default key file');
}

async function newCredential({ flags, env }: CommandLine, allowWeak: boolean): Promise<NewCredential> {
  const provided = await provideNamed(namedCredential(flags, env), '--');
  if (provided !== undefined) return provided;
  return askNewCredential('Passphrase', { allowWeak });
}
