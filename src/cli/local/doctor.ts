import type { Command } from 'commander';
import { stringifyJson } from '../../core/json/stringify.ts';
import { readCredential } from '../credential.ts';
import { chooseFile } from '../door.ts';
import type { Finish } from '../exit-codes.ts';
import {
  ANCHOR_FLAGS,
  addFlags,
  FILE_FLAGS,
  flagValue,
  OUTPUT_FLAGS,
  PROFILE_FLAGS,
  typedFlags,
} from '../global-flags.ts';
import { createPrinter } from '../output/print-result.ts';
import { withProfile } from '../profiles/with-profile.ts';
import { tell } from '../report-failure.ts';
import { KEYS_VIEWS } from './keys-view.ts';
import { progressLine } from './progress-line.ts';

/** `vault doctor`: opens everything, changes nothing, and ends with 9 when something is not as the vault wrote it. */
export function defineDoctor(command: Command, finish: Finish): void {
  addFlags(command, { ...FILE_FLAGS, ...ANCHOR_FLAGS, ...PROFILE_FLAGS, ...OUTPUT_FLAGS });
  command.action(async () => {
    const flags = typedFlags(command);
    const env = await withProfile(flags, process.env);
    const printer = createPrinter(flags, env, KEYS_VIEWS.doctor);
    const file = chooseFile(flags, env);
    const credential = await readCredential(file, flags, env);
    const anchor = flagValue(flags.anchor, env, ANCHOR_FLAGS.anchor);
    const { checkVaultFile } = await import('../../vault-admin.ts');
    const line = progressLine('checking');
    const report = await checkVaultFile({ file, credential, anchor }, line.show).finally(line.end);
    const { ok, checked, findings } = report;
    await printer.print(stringifyJson({ ok, checked: { ...checked }, findings: findings.map((one) => ({ ...one })) }));
    if (!ok)
      tell(
        `${findings.length} ${findings.length === 1 ? 'finding' : 'findings'}`,
        '`vault restore` brings back a backup',
      );
    finish(ok ? 0 : 9);
  });
}
