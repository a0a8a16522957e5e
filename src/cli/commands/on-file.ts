import type { Command } from 'commander';
import type { VaultAdmin } from '../../vault/admin.ts';
import type { KeyHolderOptions } from '../../vault/key-holder.ts';
import { readCredential } from '../credential.ts';
import type { ExitCode, Finish } from '../exit-codes.ts';
import { FLAGS } from '../global-flags.ts';
import type { ResultView } from '../output/result-view.ts';
import { chooseFile } from '../target.ts';
import { type CommandLine, definePrinting } from './define-printing.ts';

/** Checks the flags and asks questions before the file is opened. Returns the work. */
type Prepare<Work> = (line: CommandLine) => Promise<Work>;

/** Returns the result to print, as an object or as JSON text; undefined when it has printed. */
type FileWork<Result> = (opened: KeyHolderOptions) => Promise<Result | string | undefined>;

type AdminWork = (admin: VaultAdmin, opened: KeyHolderOptions) => Promise<object | undefined>;

/** Gives a subcommand the flags that open a vault's file, and its action. */
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

/** Like `onFile`, for a subcommand that works on the opened vault as its administrator. */
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

/** Closes `opened` when `work` has ended. */
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
