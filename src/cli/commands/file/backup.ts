import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { Fault } from '../../../core/fault.ts';
import { keyFileBeside, namedCredential, readCredential } from '../../credential.ts';
import type { Finish } from '../../exit-codes.ts';
import { FLAGS } from '../../global-flags.ts';
import { progressLine } from '../../output/progress-line.ts';
import { RESULT_VIEWS } from '../../output/result-views.ts';
import { filePath } from '../../output-path.ts';
import { chooseFile } from '../../target.ts';
import { definePrinting } from '../define-printing.ts';
import { defineOnFile } from '../on-file.ts';

/** `vault backup OUT`: copies a consistent state of the vault file, even while other processes use the file. */
export function defineBackup(command: Command, finish: Finish): void {
  command.argument('<out>', 'the new file; existing files are never changed');
  defineOnFile(command, finish, RESULT_VIEWS.backup, async ({ words: [out = ''] }) => {
    filePath('<out>', out);
    return async ({ file, credential }) => {
      const { backUpVault } = await import('../../../vault/admin.ts');
      const line = progressLine('checking the copy');
      const { checked } = await backUpVault({ from: file, to: out, credential }, line.show).finally(line.end);
      return { file: out, checked };
    };
  });
  command.addHelpText('after', '\nThe same keys open the vault and the copy. Keep the keys apart from the copy.');
}

const RESTORE_FLAGS = {
  moveAside: {
    flag: '--move-aside',
    env: 'VAULT_MOVE_ASIDE',
    help: 'rename an existing file, with its log, to FILE.aside-TIME',
  },
} as const;

/** `vault restore BACKUP --file F`: copies a backup to F, if the backup is undamaged. */
export function defineRestore(command: Command, finish: Finish): void {
  command.argument('<backup>', 'the file that `vault backup` made');
  const rows = { ...RESTORE_FLAGS, ...FLAGS.file, ...FLAGS.profile };
  definePrinting(command, finish, RESULT_VIEWS.backup, rows, async ({ flags, env, read, words: [backup = ''] }) => {
    const file = filePath('--file', chooseFile(flags, env));
    // The missing file is a backup, so do not suggest `vault init`.
    if (!existsSync(backup)) throw new Fault('file_missing', `there is no file ${backup}`, { hint: 'name a backup' });
    // The key file may be beside the old vault or beside the backup.
    const isBeside = existsSync(keyFileBeside(file)) && namedCredential(flags, env).keyCommand === undefined;
    const credential = await readCredential({ file: isBeside ? file : backup }, flags, env);
    const { restoreVault } = await import('../../../vault/admin.ts');
    const line = progressLine('checking the copy');
    const { checked } = await restoreVault(
      { from: backup, to: file, credential, ...read(RESTORE_FLAGS) },
      line.show,
    ).finally(line.end);
    return { file, checked };
  });
  command.addHelpText(
    'after',
    '\nNo file is overwritten. --move-aside keeps a damaged vault with its log, which may contain recent writes. Also remove the --anchor file.',
  );
}
