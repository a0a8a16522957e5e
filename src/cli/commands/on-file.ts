import type { Command } from 'commander';
import type { VaultAdmin } from '../../vault/admin.ts';
import type { VaultPlace } from '../../vault/place.ts';
import { type Credential, readCredential } from '../credential.ts';
import type { ExitCode, Finish } from '../exit-codes.ts';
import { type Environment, FLAGS, type GlobalFlags } from '../global-flags.ts';
import type { ResultView } from '../output/result-view.ts';
import { chooseFile, choosePlace } from '../target.ts';
import { type CommandLine, definePrinting } from './define-printing.ts';

/** The place of a vault, and the credential that opens it. */
export type Opening<Place extends VaultPlace = VaultPlace> = Place & { readonly credential: Credential };

type FilePlace = Extract<VaultPlace, { readonly file: string }>;

/**
 * Checks the flags and asks questions before the vault is opened. Resolves to the work on the open vault, which resolves
 * to the result to print (an object or JSON text), or to undefined if it has printed the result itself.
 */
type Prepare<Parts extends readonly unknown[], Result> = (
  line: CommandLine,
) => Promise<(...parts: Parts) => Promise<Result | string | undefined>>;

/** Adds the flags that open a vault to a subcommand. Its action runs the prepared work and prints the result. */
export function defineOnVault<Result extends object = object>(
  command: Command,
  finish: Finish,
  view: ResultView,
  prepare: Prepare<[Opening], Result>,
  exitCode?: (result: Result) => ExitCode,
): void {
  define(command, finish, view, choosePlace, prepare, exitCode);
}

/** Defines a subcommand like `defineOnVault`, which works only on a file. `storeHint` is what to do with a database. */
export function defineOnFile<Result extends object = object>(
  command: Command,
  finish: Finish,
  view: ResultView,
  prepare: Prepare<[Opening<FilePlace>], Result>,
  storeHint?: string,
): void {
  define(command, finish, view, (flags, env) => ({ file: chooseFile(flags, env, storeHint) }), prepare);
}

function define<Place extends VaultPlace, Result extends object>(
  command: Command,
  finish: Finish,
  view: ResultView,
  choose: (flags: GlobalFlags, env: Environment) => Place,
  prepare: Prepare<[Opening<Place>], Result>,
  exitCode?: (result: Result) => ExitCode,
): void {
  const rows = { ...FLAGS.file, ...FLAGS.profile };
  const workOnVault = async (line: CommandLine) => {
    const work = await prepare(line);
    const place = choose(line.flags, line.env);
    return work({ ...place, credential: await readCredential(place, line.flags, line.env) });
  };
  definePrinting(command, finish, view, rows, workOnVault, exitCode);
}

/** Defines a subcommand like `defineOnVault`. Its work gets the opened vault as an administrator. */
export function defineWithAdmin(
  command: Command,
  finish: Finish,
  view: ResultView,
  prepare: Prepare<[VaultAdmin, Opening], object>,
  exitCode?: (result: object) => ExitCode,
): void {
  const prepareOnVault = async (line: CommandLine) => {
    const work = await prepare(line);
    return async (opened: Opening) => {
      const { openVaultAdmin } = await import('../../vault/admin.ts');
      return closing(await openVaultAdmin(opened), (admin) => work(admin, opened));
    };
  };
  defineOnVault(command, finish, view, prepareOnVault, exitCode);
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
