import type { Command } from 'commander';
import { stringifyJson } from '../../core/json/stringify.ts';
import { readCredential } from '../credential.ts';
import { chooseFile } from '../door.ts';
import type { Finish } from '../exit-codes.ts';
import { addFlags, FILE_FLAGS, OUTPUT_FLAGS, PROFILE_FLAGS, typedFlags } from '../global-flags.ts';
import { createPrinter } from '../output/print-result.ts';
import { filePath } from '../output-path.ts';
import { withProfile } from '../profiles/with-profile.ts';
import { KEYS_VIEWS } from './keys-view.ts';
import { progressLine } from './progress-line.ts';

/** `vault backup OUT`: a copy of one state of the file, whoever uses it meanwhile. */
export function defineBackup(command: Command, finish: Finish): void {
  command.argument('<out>', 'the file to make; an existing one is never touched');
  addFlags(command, { ...FILE_FLAGS, ...PROFILE_FLAGS, ...OUTPUT_FLAGS });
  command.addHelpText(
    'after',
    '\nThe copy is encrypted as the vault is, and opened by the same keys: keep those apart.',
  );
  command.action(async (out: string) => {
    const flags = typedFlags(command);
    const env = await withProfile(flags, process.env);
    const printer = createPrinter(flags, env, KEYS_VIEWS.copy);
    filePath('<out>', out);
    const from = chooseFile(flags, env);
    const credential = await readCredential(from, flags, env);
    const { backUpVault } = await import('../../vault-admin.ts');
    const line = progressLine('checking the copy');
    const { checked } = await backUpVault({ from, to: out, credential }, line.show).finally(line.end);
    await printer.print(stringifyJson({ file: out, checked: { ...checked } }));
    finish(0);
  });
}
