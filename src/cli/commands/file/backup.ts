import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { Fault } from '../../../core/fault.ts';
import { stringifyJson } from '../../../core/json/stringify.ts';
import { keyFileBeside, readCredential } from '../../credential.ts';
import type { Finish } from '../../exit-codes.ts';
import { addFlags, FILE_FLAGS, OUTPUT_FLAGS, PROFILE_FLAGS, typedFlags } from '../../global-flags.ts';
import { createPrinter } from '../../output/print-result.ts';
import { progressLine } from '../../output/progress-line.ts';
import { RESULT_VIEWS } from '../../output/result-views.ts';
import { filePath } from '../../output-path.ts';
import { withProfile } from '../../profiles/with-profile.ts';
import { chooseFile } from '../../target.ts';
import { defineOnFile } from '../on-file.ts';

/** `vault backup OUT`: a copy of one state of the file, whoever uses it meanwhile. */
export function defineBackup(command: Command, finish: Finish): void {
  command.argument('<out>', 'the file to make; an existing one is never touched');
  defineOnFile(command, finish, RESULT_VIEWS.backup, async (_flags, _env, [out = '']) => {
    filePath('<out>', out);
    return async ({ file, credential }) => {
      const { backUpVault } = await import('../../../vault/admin.ts');
      const line = progressLine('checking the copy');
      const { checked } = await backUpVault({ from: file, to: out, credential }, line.show).finally(line.end);
      return { file: out, checked };
    };
  });
  command.addHelpText(
    'after',
    '\nThe copy is encrypted as the vault is, and opened by the same keys: keep those apart.',
  );
}

/** `vault restore BACKUP --file F`: a vault at F, if the backup is whole. */
export function defineRestore(command: Command, finish: Finish): void {
  command.argument('<backup>', 'what `vault backup` made');
  addFlags(command, { ...FILE_FLAGS, ...PROFILE_FLAGS, ...OUTPUT_FLAGS });
  command.addHelpText(
    'after',
    '\nNothing is overwritten: move a damaged vault away first. An --anchor must be removed, too.',
  );
  command.action(async (backup: string) => {
    const flags = typedFlags(command);
    const env = await withProfile(flags, process.env);
    const printer = createPrinter(flags, env, RESULT_VIEWS.backup);
    const file = filePath('--file', chooseFile(flags, env));
    // It is a backup that is missing then, not a vault that could be made.
    if (!existsSync(backup)) throw new Fault('file_missing', `there is no file ${backup}`, { hint: 'name a backup' });
    // The key file may still stand where the vault did, or be kept with the backup.
    const credential = await readCredential(existsSync(keyFileBeside(file)) ? file : backup, flags, env);
    const { restoreVault } = await import('../../../vault/admin.ts');
    const line = progressLine('checking the copy');
    const { checked } = await restoreVault({ from: backup, to: file, credential }, line.show).finally(line.end);
    await printer.print(stringifyJson({ file, checked: { ...checked } }));
    finish(0);
  });
}
