import type { Credential } from '../../keyring/credential.ts';
import type { VaultAdmin } from '../../vault/admin.ts';
import type { VaultLocation } from '../../vault/location.ts';
import type { Vault } from '../../vault/vault.ts';
import { readCredential } from '../credential/read-credential.ts';
import { FLAGS, type FlagRows, type Line } from '../flags/global-flags.ts';
import { chooseFile, chooseLocation } from '../flags/target.ts';
import { type CommandLine, type Printing, printing } from './printing.ts';
import type { Define } from './subcommand.ts';

/** The location of a vault, and the credential that opens it. */
export type Opening<Location extends VaultLocation = VaultLocation> = Location & { readonly credential: Credential };

type FileLocation = Extract<VaultLocation, { readonly file: string }>;

/** A subcommand that works on the vault itself. The flags that open the vault follow its own flags. */
interface OnVault<Opened, Result extends object> extends Omit<Printing<Result>, 'flags' | 'work'> {
  readonly flags?: FlagRows;
  /** Does the work of `Printing`. Checks the flags before it calls `open`, which asks for a missing passphrase. */
  readonly work: (line: CommandLine, open: () => Promise<Opened>) => ReturnType<Printing<Result>['work']>;
}

/** Returns the function that defines a subcommand for a file or a database. */
export function onVault<Result extends object>(row: OnVault<Opening, Result>): Define {
  return onLocation(row, chooseLocation, async (opening) => opening);
}

/** Returns the function that defines a subcommand for a file. `storeHint` is what to do with a database. */
export function onFile(row: OnVault<Opening<FileLocation>, object>, storeHint?: string): Define {
  return onLocation(
    row,
    (line) => ({ file: chooseFile(line, storeHint) }),
    async (opening) => opening,
  );
}

function onLocation<Location extends VaultLocation, Opened, Result extends object>(
  { work, ...row }: OnVault<Opened, Result>,
  choose: (line: Line) => Location,
  open: (opening: Opening<Location>) => Promise<Opened & { close?(): Promise<void> }>,
): Define {
  return printing<Result>({
    ...row,
    flags: { ...row.flags, ...FLAGS.file, ...FLAGS.profile },
    async work(line) {
      let close: (() => Promise<void>) | undefined;
      const openOnce = async (): Promise<Opened> => {
        const location = choose(line);
        const opened = await open({ ...location, credential: await readCredential(location, line) });
        close = opened.close;
        return opened;
      };
      try {
        return await work(line, openOnce);
      } finally {
        await close?.();
      }
    },
  });
}

/** Returns the function that defines a subcommand whose `open` resolves to an administrator of the vault. */
export function withAdmin(row: OnVault<VaultAdmin & { readonly opening: Opening }, object>): Define {
  return onLocation(row, chooseLocation, async (opening) => {
    const { openVaultAdmin } = await import('../../vault/admin.ts');
    return { ...(await openVaultAdmin(opening)), opening };
  });
}

/** Returns the function that defines a subcommand whose `open` resolves to the opened vault. */
export function withVault(row: OnVault<Vault, object>): Define {
  return onLocation(row, chooseLocation, async ({ credential, ...location }) => {
    const { openVaultAt } = await import('../../vault/location.ts');
    return openVaultAt(location, { credential });
  });
}
