import type { Command } from 'commander';
import { adjacentKeyFile, adjacentKeyWarning } from '../../credential.ts';
import type { Finish } from '../../exit-codes.ts';
import { addFlags, FLAGS } from '../../global-flags.ts';
import { progressLine } from '../../output/progress-line.ts';
import { RESULT_VIEWS } from '../../output/result-views.ts';
import { report } from '../../report-failure.ts';
import { refuseAnchor } from '../../target.ts';
import { defineOnVault } from '../on-file.ts';

/** `vault doctor`: opens every record, changes nothing, and exits with 9 when it finds damage. */
export function defineDoctor(command: Command, finish: Finish): void {
  defineOnVault(
    command,
    finish,
    RESULT_VIEWS.doctor,
    async ({ read, flags, env }) => {
      const { anchor } = read(FLAGS.anchor);
      return async (opened) => {
        if (opened.store !== undefined) refuseAnchor(anchor);
        const { checkVaultFile } = await import('../../../vault/admin.ts');
        const line = progressLine('checking');
        const { ok, checked, findings, notices } = await checkVaultFile({ ...opened, anchor }, line.show).finally(
          line.end,
        );
        for (const notice of notices) report(notice);
        const keyFile = opened.file === undefined ? undefined : adjacentKeyFile(opened.file, flags, env);
        if (keyFile !== undefined) report(...adjacentKeyWarning(keyFile));
        return { ok, checked, findings, notices };
      };
    },
    ({ ok, findings }) => {
      if (ok) return 0;
      const count = `${findings.length} ${findings.length === 1 ? 'finding' : 'findings'}`;
      report(count, 'restore a backup with `vault restore`');
      return 9;
    },
  );
  addFlags(command, FLAGS.anchor);
}
