import type { Command } from 'commander';
import { type Printable, stringifyJson } from '../../core/json/stringify.ts';
import type { OpenAdminOptions, VaultAdmin } from '../../vault/admin.ts';
import { readCredential } from '../credential.ts';
import type { ExitCode, Finish } from '../exit-codes.ts';
import { addFlags, type Environment, FLAGS, type GlobalFlags, typedFlags } from '../global-flags.ts';
import { createPrinter } from '../output/print-result.ts';
import type { ResultView } from '../output/result-view.ts';
import { withProfile } from '../profiles/with-profile.ts';
import { chooseFile } from '../target.ts';

/** Checks the flags, and asks what is to be asked, before the file is opened. Returns the work. */
type Prepare<Flags, Work> = (flags: Flags & GlobalFlags, env: Environment, words: readonly string[]) => Promise<Work>;

/** Returns the result to print, as an object or as JSON text; undefined when it has printed. */
type FileWork<Result> = (opened: OpenAdminOptions) => Promise<Result | string | undefined>;

type AdminWork = (admin: VaultAdmin, opened: OpenAdminOptions) => Promise<object | undefined>;

/** Gives a subcommand the flags that open a vault's file, and its action. */
export function defineOnFile<Flags extends object, Result extends object = object>(
  command: Command,
  finish: Finish,
  view: ResultView,
  prepare: Prepare<Flags, FileWork<Result>>,
  exitCode: (result: Result) => ExitCode = () => 0,
): void {
  addFlags(command, { ...FLAGS.file, ...FLAGS.profile, ...FLAGS.output });
  command.action(async () => {
    const flags = typedFlags<Flags>(command);
    const env = await withProfile(flags, process.env);
    const printer = createPrinter(flags, env, view);
    const work = await prepare(flags, env, command.args);
    const file = chooseFile(flags, env);
    const result = await work({ file, credential: await readCredential(file, flags, env) });
    const isObject = typeof result === 'object';
    if (result !== undefined) await printer.print(isObject ? stringifyJson({ ...result } as Printable) : result);
    finish(isObject ? exitCode(result) : 0);
  });
}

/** The same for a subcommand that works on the opened vault as its administrator. */
export function defineWithAdmin<Flags extends object>(
  command: Command,
  finish: Finish,
  view: ResultView,
  prepare: Prepare<Flags, AdminWork>,
  exitCode?: (result: object) => ExitCode,
): void {
  const prepareOnFile: Prepare<Flags, FileWork<object>> = async (flags, env, words) => {
    const work = await prepare(flags, env, words);
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
