import type { ArchiveFile } from '../../../history/audit-archive.ts';
import type { KeyHolderOptions } from '../../../vault/key-holder.ts';
import { printError, report } from '../../exit/report-failure.ts';
import { archiveFiles } from '../../files/archive-file.ts';
import { FLAGS } from '../../flags/global-flags.ts';
import { progressLine } from '../../output/progress-line.ts';
import { RESULT_VIEWS } from '../../output/result-views.ts';
import { onVault } from '../on-file.ts';

/** The result of `vault doctor`. */
export type Checked = Awaited<ReturnType<typeof checkAndReport>>;

/** `vault doctor`: opens every record, changes nothing, and exits with 9 when it finds damage. */
export const defineDoctor = onVault<Checked>({
  flags: { ...FLAGS.file, ...FLAGS.profile, ...FLAGS.output, ...FLAGS.anchor, ...FLAGS.archive },
  view: RESULT_VIEWS.doctor,
  examples: ['vault doctor', 'vault doctor --file vault.db --field ok'],
  async work({ read }, open) {
    const { anchor, archive } = read({ ...FLAGS.anchor, ...FLAGS.archive });
    const archives = archiveFiles(archive);
    return checkAndReport({ ...(await open()), anchor, archives });
  },
  exitCode: (checked) => doctorExitCode(checked, hintFor(checked)),
});

/** Returns the hint for damage. `schema` is no table: its findings are about the tables of a database. */
function hintFor({ findings }: Pick<Checked, 'findings'>): string {
  return findings.every(({ table }) => table === 'schema')
    ? 'undo the changes as the owner of the tables'
    : 'restore a backup: `vault restore` (database: pg_restore)';
}

/** Runs the checks of `vault doctor` on a file, shows their progress and reports notices. Resolves to the result. */
export async function checkAndReport(
  opened: KeyHolderOptions & {
    readonly anchor?: string | undefined;
    readonly archives?: readonly ArchiveFile[] | undefined;
  },
) {
  const [{ checkVaultFile }, { setFlagsFromString }] = await Promise.all([
    import('../../../vault/checks/check-vault-file.ts'),
    import('node:v8'),
  ]);
  // V8 would grow its young generation to 128 MB. Keep the first size: a check has only a few rows in memory.
  setFlagsFromString('--semi-space-growth-factor=1');
  const line = progressLine('checking');
  const { ok, format, checked, findings, notices } = await checkVaultFile(opened, line.show).finally(line.end);
  for (const notice of notices) report(notice);
  return { ok, ...(format !== undefined && { format }), checked, findings, notices };
}

/** Reports the number of findings with a hint, and returns the exit code. */
export function doctorExitCode({ ok, findings }: Pick<Checked, 'ok' | 'findings'>, hint: string): 0 | 9 {
  if (ok) return 0;
  const message = `${findings.length} ${findings.length === 1 ? 'finding' : 'findings'}`;
  return printError(9, { code: 'damaged', message, hint });
}
