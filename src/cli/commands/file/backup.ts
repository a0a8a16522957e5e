import { chmodSync, copyFileSync, createReadStream, existsSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../../core/fault.ts';
import { Problem } from '../../../core/problem.ts';
import type { Credential } from '../../../keyring/credential.ts';
import type { FileHolderOptions } from '../../../vault/key-holder.ts';
import { keyFileBeside, namedCredential, readCredential } from '../../credential/read-credential.ts';
import { reasonOf } from '../../exit/error-reason.ts';
import { report } from '../../exit/report-failure.ts';
import { filePath, outputPath } from '../../files/output-path.ts';
import { FLAGS, flag, type GlobalFlags, type Line, oneShot } from '../../flags/global-flags.ts';
import { parseWhole } from '../../flags/quantities.ts';
import { chooseFile } from '../../flags/target.ts';
import { RESULT_VIEWS } from '../../output/result-views.ts';
import { isTerminal, writeOut } from '../../output/standard-output.ts';
import { inTemporaryFolder } from '../dev/temporary-folder.ts';
import { type CommandLine, printing } from '../printing.ts';
import { copyProgress } from './copy-progress.ts';
import { type Checked, checkAndReport, doctorExitCode } from './doctor.ts';

const BACKUP_FLAGS = {
  keep: flag('--keep <n>', 'name the backup by its time in the folder OUT; keep the last n of this vault'),
  verify: oneShot('--verify', 'check the backup OUT as `vault doctor` does; copy nothing'),
};

const BACKUP_HELP = `
Daemons may serve the file meanwhile. The copy is checked as \`vault doctor\` does before it gets its name. The same keys
open the vault and the copy. Keep the keys apart from the copy. The vault records
the time of the backup, which a daemon shows as vault_backup_timestamp_seconds.

- writes the checked copy to standard output; until then, it is in the temporary folder (TMPDIR). --keep names backups
vault-YYYYMMDDTHHMMSSZ.db and removes only files with such a name that are backups of this vault. It skips names with a
time in the future. --verify uses FILE.key of the backup or of the vault, unless a flag names the key.`;

/** `vault backup OUT`: copies a consistent state of the vault file, even while other processes use the file. */
export const defineBackup = printing({
  args: { '<out>': 'the new file; - for standard output; existing files are never changed' },
  flags: { ...BACKUP_FLAGS, ...FLAGS.file, ...FLAGS.profile },
  view: (read) => (read(BACKUP_FLAGS).verify ? RESULT_VIEWS.doctor : RESULT_VIEWS.backup),
  help: BACKUP_HELP,
  examples: [
    'vault backup monday.db',
    'vault backup --keep 14 /mnt/backups',
    'vault backup - | ssh host "cat > monday.db"',
    'vault backup --verify monday.db --key-file vault.db.key',
  ],
  work: backUpOrVerify,
  exitCode: (result) => ('findings' in result ? verifiedExitCode(result as Checked) : 0),
});

async function backUpOrVerify(line: CommandLine): Promise<object | undefined> {
  const [out = ''] = line.words;
  const { keep: asked, verify } = line.read(BACKUP_FLAGS);
  if (verify) {
    if (asked !== undefined) throw new Fault('usage', 'only one of --keep and --verify can be given');
    return verifyBackup(filePath('<out>', out), line);
  }
  const keep = asked === undefined ? undefined : parseWhole(asked, 1, 9999, '--keep must be a number from 1 to 9999');
  if (keep !== undefined) filePath('--keep', out, 'name a folder for the backups');
  else if (outputPath(out) === undefined) requireStream(line.flags);
  const file = chooseFile(line);
  const opened = { file, credential: await readCredential({ file }, line) };
  const made =
    keep !== undefined
      ? await backUpByTime(opened, out, keep)
      : outputPath(out) !== undefined
        ? { file: out, checked: await backUp(opened, out) }
        : await backUpToOutput(opened);
  await recordTime(opened);
  return made;
}

/** Records the backup in the vault. A failure is only reported, because the copy is complete. */
async function recordTime({ file, credential }: FileHolderOptions): Promise<void> {
  const { recordBackup } = await import('../../../vault/admin.ts');
  await recordBackup({ file, credential }).catch((error: unknown) => {
    const reason = error instanceof Fault ? error.message : error instanceof Problem ? error.detail : reasonOf(error);
    report(`the backup is complete, but its time cannot be recorded in the vault: ${reason}`);
  });
}

/** Throws the fault `usage` for a terminal, and for flags that format a result, because the output is the copy. */
function requireStream({ output, field }: GlobalFlags): void {
  const asked = field !== undefined ? '--field' : output !== undefined ? '--output' : undefined;
  if (asked !== undefined) {
    throw new Fault('usage', `${asked} works only with a file: standard output receives the copy`);
  }
  if (isTerminal()) {
    throw new Fault('usage', 'a backup cannot be printed on a terminal', {
      hint: 'name a file, or redirect the output: `vault backup - > FILE`',
    });
  }
}

async function backUp({ file, credential }: FileHolderOptions, to: string) {
  const { backUpVault } = await import('../../../vault/admin.ts');
  const progress = copyProgress();
  return (await backUpVault({ from: file, to, credential }, progress).finally(progress.end)).checked;
}

async function backUpByTime({ file: from, credential }: FileHolderOptions, folder: string, keep: number) {
  const { backUpIntoFolder } = await import('../../../vault/admin.ts');
  const progress = copyProgress();
  const made = await backUpIntoFolder({ from, credential, folder, keep }, progress).finally(progress.end);
  if (made.future.length > 0) report(`skipped ${made.future.join(', ')}: the name has a time in the future`);
  return { file: made.file, checked: made.checked, removed: made.removed };
}

const PIECE_BYTES = 1024 * 1024;

/** Writes a copy to standard output. Checks it first, in a temporary folder: written bytes cannot be taken back. */
function backUpToOutput(opened: FileHolderOptions): Promise<undefined> {
  return inTemporaryFolder('backup', async (folder) => {
    const copy = path.join(folder, 'backup.db');
    await backUp(opened, copy);
    for await (const piece of createReadStream(copy, { highWaterMark: PIECE_BYTES })) await writeOut(piece);
    return undefined;
  });
}

/** Checks a backup as `vault doctor` checks a vault. */
async function verifyBackup(backup: string, line: CommandLine): Promise<Checked> {
  requireBackup(backup);
  const file = chooseFile({ ...line, env: { ...line.env, VAULT_URL: undefined } });
  const credential = await readBackupCredential(backup, file, line);
  const check = (file: string) => checkAndReport({ file, credential });
  const { isSafeToRead } = await import('../../../vault/admin.ts');
  return check(backup).catch(async (error: unknown) => {
    const code = error instanceof Fault ? error.code : undefined;
    if (code !== 'file_unwritable' && !(code === 'file_unsafe' && (await isSafeToRead(backup)))) throw error;
    return withCopy(backup, check);
  });
}

const verifiedExitCode = (checked: Checked) =>
  doctorExitCode(checked, 'make a new backup with `vault backup`, and check the vault with `vault doctor`');

/**
 * Runs a check on a temporary copy of a backup. Needed on a read-only disk, and for a backup with hard links or that is
 * a mount point: SQLite writes a log beside each file that it opens.
 */
function withCopy(backup: string, check: (copy: string) => Promise<Checked>): Promise<Checked> {
  return inTemporaryFolder('backup', async (folder) => {
    const copy = path.join(folder, path.basename(backup));
    for (const suffix of ['', '-wal']) {
      if (!existsSync(backup + suffix)) continue;
      copyFileSync(backup + suffix, copy + suffix);
      chmodSync(copy + suffix, 0o600);
    }
    const renamed = (text: string) => text.replaceAll(copy, () => backup);
    try {
      const checked = await check(copy);
      return { ...checked, findings: checked.findings.map((one) => ({ ...one, what: renamed(one.what) })) };
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      throw new Fault(error.code, renamed(error.message), { hint: error.hint, cause: error });
    }
  });
}

function requireBackup(backup: string): void {
  // The missing file is a backup, so do not suggest `vault init`.
  if (!existsSync(backup)) throw new Fault('file_missing', `there is no file ${backup}`, { hint: 'name a backup' });
}

/** Resolves to the credential of a backup. The default key file may be beside the vault or beside the backup. */
async function readBackupCredential(backup: string, file: string, line: Line): Promise<Credential> {
  const isBeside = existsSync(keyFileBeside(file)) && namedCredential(line).keyCommand === undefined;
  return readCredential({ file: isBeside ? file : backup }, line);
}

const RESTORE_FLAGS = { moveAside: flag('--move-aside', 'rename an existing file, with its log, to FILE.aside-TIME') };

/** `vault restore BACKUP --file F`: copies a backup to F, if the backup is undamaged. */
export const defineRestore = printing({
  args: { '<backup>': 'the file that `vault backup` created' },
  flags: { ...RESTORE_FLAGS, ...FLAGS.file, ...FLAGS.profile },
  view: RESULT_VIEWS.backup,
  help: `
No file is overwritten. --move-aside keeps a damaged vault with its log, which may contain recent writes; no daemon may have it open. Also remove the --anchor file.`,
  examples: ['vault restore monday.db --file vault.db --key-file vault.db.key'],
  async work(line) {
    const [backup = ''] = line.words;
    const file = filePath('--file', chooseFile(line));
    requireBackup(backup);
    const credential = await readBackupCredential(backup, file, line);
    const { restoreVault } = await import('../../../vault/admin.ts');
    const progress = copyProgress();
    const copy = { from: backup, to: file, credential, ...line.read(RESTORE_FLAGS) };
    const { checked } = await restoreVault(copy, progress).finally(progress.end);
    return { file, checked };
  },
});
