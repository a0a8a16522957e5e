import type { Command } from 'commander';
import type { VaultAdmin } from '../../vault/admin.ts';
import type { KeyHolderOptions } from '../../vault/key-holder.ts';
import { readCredential } from '../credential.ts';
import type { ExitCode, Finish } from '../exit-codes.ts';
import { FLAGS } from '../global-flags.ts';
import type { ResultView } from '../output/result-view.ts';
import { chooseFile } from '../target.ts';
import { type CommandLine, definePrinting } from './define-printing.ts';

/** Checks the flags and asks questions before the file is opened. Resolves to the work on the open file. */
type Prepare<Work> = (line: CommandLine) => Promise<Work>;

/** Resolves to the result to print (an object or JSON text), or to undefined if it has printed the result itself. */
type FileWork<Result> = (opened: KeyHolderOptions) => Promise<Result | string | undefined>;

type AdminWork = (admin: VaultAdmin, opened: KeyHolderOptions) => Promise<object | undefined>;

/** Adds the flags that open a vault's file to a subcommand. Its action runs the prepared work and prints the result. */
export function defineOnFile<Result extends object = object>(
  command: Command,
  finish: Finish,
  view: ResultView,
  prepare: Prepare<FileWork<Result>>,
  exitCode?: (result: Result) => ExitCode,
): void {
  const rows = { ...FLAGS.file, ...FLAGS.profile };
  const workOnFile = async (line: CommandLine) => {
    const work = await prepare(line);
    const file = chooseFile(line.flags, line.env);
    return work({ file, credential: await readCredential(file, line.flags, line.env) });
  };
  definePrinting(command, finish, view, rows, workOnFile, exitCode);
}

/** Defines a subcommand like `defineOnFile`. Its work gets the opened vault as an administrator. */
export function defineWithAdmin(
  command: Command,
  finish: Finish,
  view: ResultView,
  prepare: Prepare<AdminWork>,
  exitCode?: (result: object) => ExitCode,
): void {
  const prepareOnFile: Prepare<FileWork<object>> = async (line) => {
    const work = await prepare(line);
    return async (opened) => {
      const { openVaultAdmin } = await import('../../vault/admin.ts');
      return closing(await openVaultAdmin(opened), (admin) => work(admin, opened));
    };
  };
  defineOnFile(command, finish, view, prepareOnFile, exitCode);
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
