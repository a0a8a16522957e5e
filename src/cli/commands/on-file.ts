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
interface OnVault<Parts extends readonly unknown[], Result extends object>
  extends Omit<Printing<Result>, 'flags' | 'work'> {
  readonly flags?: FlagRows;
  /**
   * Checks the flags and asks questions before the vault is opened. Resolves to the work on it, which resolves to the
   * result to print (an object or JSON text), or to undefined if it has printed the result itself.
   */
  readonly prepare: (line: CommandLine) => Promise<(...parts: Parts) => Promise<Result | string | undefined>>;
}

/** Returns the function that defines a subcommand for a file or a database. */
export function onVault<Result extends object>(row: OnVault<[Opening], Result>): Define {
  return onLocation(row, chooseLocation);
}

/** Returns the function that defines a subcommand for a file. `storeHint` is what to do with a database. */
export function onFile(row: OnVault<[Opening<FileLocation>], object>, storeHint?: string): Define {
  return onLocation(row, (line) => ({ file: chooseFile(line, storeHint) }));
}

function onLocation<Location extends VaultLocation, Result extends object>(
  { prepare, ...row }: OnVault<[Opening<Location>], Result>,
  choose: (line: Line) => Location,
): Define {
  return printing<Result>({
    ...row,
    flags: { ...row.flags, ...FLAGS.file, ...FLAGS.profile },
    async work(line) {
      const work = await prepare(line);
      const location = choose(line);
      return work({ ...location, credential: await readCredential(location, line) });
    },
  });
}

/** Returns the function that defines a subcommand like `onVault`, whose work gets an administrator of the vault. */
export function withAdmin({ prepare, ...row }: OnVault<[VaultAdmin, Opening], object>): Define {
  return onVault({
    ...row,
    async prepare(line) {
      const work = await prepare(line);
      return async (opened) => {
        const { openVaultAdmin } = await import('../../vault/admin.ts');
        return closing(await openVaultAdmin(opened), (admin) => work(admin, opened));
      };
    },
  });
}

/** Returns the function that defines a subcommand like `onVault`, whose work gets the opened vault. */
export function withVault({ prepare, ...row }: OnVault<[Vault], object>): Define {
  return onVault({
    ...row,
    async prepare(line) {
      const work = await prepare(line);
      return async ({ credential, ...location }) => {
        const { openVaultAt } = await import('../../vault/location.ts');
        return closing(await openVaultAt(location, { credential }), work);
      };
    },
  });
}

/** Runs `work`, closes `opened`, and resolves to the result of `work`. */
export async function closing<Opened extends { close(): Promise<void> }, Result>(
  opened: Opened,
  work: (opened: Opened) => Promise<Result>,
): Promise<Result> {
  try {
    return await work(opened);
  } finally {
    await opened.close();
  }
}
