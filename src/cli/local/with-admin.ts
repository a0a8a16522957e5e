import type { Command } from 'commander';
import type { Printable } from '../../core/json/stringify.ts';
import { stringifyJson } from '../../core/json/stringify.ts';
import type { OpenAdminOptions, VaultAdmin } from '../../vault-admin.ts';
import { readCredential } from '../credential.ts';
import { chooseFile } from '../door.ts';
import type { ExitCode, Finish } from '../exit-codes.ts';
import {
  addFlags,
  type Environment,
  FILE_FLAGS,
  type GlobalFlags,
  OUTPUT_FLAGS,
  PROFILE_FLAGS,
  typedFlags,
} from '../global-flags.ts';
import { createPrinter } from '../output/print-result.ts';
import type { ResultView } from '../output/result-view.ts';
import { withProfile } from '../profiles/with-profile.ts';

/**
 * What a subcommand does with the opened vault, and with what opened it; it answers the result to print, or undefined when it
 * has printed.
 */
export type AdminWork = (admin: VaultAdmin, opened: OpenAdminOptions) => Promise<object | undefined>;

/**
 * Gives a subcommand the flags that open a vault's file, and its action. `prepare` checks the flags, and asks what is to be
 * asked, before the file is opened.
 */
export function defineWithAdmin<Flags extends object>(
  command: Command,
  finish: Finish,
  view: ResultView,
  prepare: (flags: Flags & GlobalFlags, env: Environment) => Promise<AdminWork>,
  exitCode: (result: object) => ExitCode = () => 0,
): void {
  addFlags(command, { ...FILE_FLAGS, ...PROFILE_FLAGS, ...OUTPUT_FLAGS });
  command.action(async () => {
    const flags = typedFlags<Flags>(command);
    const env = await withProfile(flags, process.env);
    const printer = createPrinter(flags, env, view);
    const work = await prepare(flags, env);
    const file = chooseFile(flags, env);
    const credential = await readCredential(file, flags, env);
    const { openVaultAdmin } = await import('../../vault-admin.ts');
    const admin = await openVaultAdmin({ file, credential });
    let result: object | undefined;
    try {
      result = await work(admin, { file, credential });
    } finally {
      await admin.close();
    }
    if (result !== undefined) await printer.print(stringifyJson({ ...result } as Printable));
    finish(result === undefined ? 0 : exitCode(result));
  });
}
