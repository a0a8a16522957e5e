import { DEV_PATHS } from '../../../contract/dev-paths.ts';
import { Fault } from '../../../core/fault.ts';
import type { FileHolderOptions } from '../../../vault/key-holder.ts';
import type { VaultSnapshots } from '../../../vault/snapshots.ts';
import { readCredential } from '../../credential/read-credential.ts';
import { report } from '../../exit/report-failure.ts';
import { FLAGS, type FlagRows, flag } from '../../flags/global-flags.ts';
import { chooseFile, chooseTarget, refuseStore } from '../../flags/target.ts';
import { RESULT_VIEWS } from '../../output/result-views.ts';
import { type Asked, openDevDaemon } from '../dev/dev-daemon.ts';
import { onFile } from '../on-file.ts';
import { type CommandLine, confirmation, confirmed, type Printing, printing } from '../printing.ts';
import type { Define } from '../subcommand.ts';
import { damagedExitCode } from '../tenants/damaged-exit-code.ts';

const SAVE_FLAGS = { replace: flag('--replace', 'overwrite the snapshot of this name') };

const NAME = 'lower-case letters, digits, - and _';

const SAVE_HELP = `
A snapshot is a copy of the whole file in the folder FILE.snapshots. The keys of the vault open it.`;

const LOAD_HELP = `
The snapshot replaces the whole file, with its audit, keys and tenants. Requests to the daemon wait meanwhile.`;

const DEV_HELP = `
Works only with a vault that \`vault serve --dev\` created. --url names a running daemon on this machine and needs its
management key. --file works while no process has the file open. For other vaults, use \`vault backup\` and \`vault restore\`.`;

const OTHERS = 'use `vault backup` and `vault restore`';

const RESET_HELP = `
Tenants, applications, API keys and the audit stay. Ids of deleted tokens may be used again. New data keys replace the old
ones, so that no key opens an older copy of a token. The file keeps its size, unless --compact is given, which needs daemons
to be stopped.`;

/** `vault dev snapshot save NAME`: saves the current state. */
export const defineSnapshotSave = onSnapshots({
  args: { '<name>': NAME },
  flags: SAVE_FLAGS,
  view: RESULT_VIEWS.snapshot,
  help: SAVE_HELP + DEV_HELP,
  examples: ['vault dev snapshot save seeded', 'vault dev snapshot save seeded --replace'],
  onFile: (snapshots, name, { read }) => snapshots.save(name, read(SAVE_FLAGS)),
  onDaemon: (name, { read }) => ({ method: 'POST', path: DEV_PATHS.snapshots, body: { name, ...read(SAVE_FLAGS) } }),
});

/** `vault dev snapshot list`: lists the snapshots. */
export const defineSnapshotList = onSnapshots({
  view: RESULT_VIEWS.snapshotList,
  help: DEV_HELP,
  examples: ['vault dev snapshot list'],
  onFile: async (snapshots) => ({ data: await snapshots.list() }),
  onDaemon: () => ({ method: 'GET', path: DEV_PATHS.snapshots }),
});

/** `vault dev snapshot load NAME`: replaces the file by a snapshot. */
export const defineSnapshotLoad = onSnapshots({
  args: { '<name>': NAME },
  flags: FLAGS.confirm,
  view: RESULT_VIEWS.snapshot,
  help: LOAD_HELP + DEV_HELP,
  examples: [
    'vault dev snapshot load seeded --yes',
    'vault dev snapshot load seeded --yes --url http://127.0.0.1:8484',
  ],
  loss: (name) => `Everything that changed since the snapshot ${name} is lost.`,
  onFile: (snapshots, name) => snapshots.load(name),
  onDaemon: (name) => ({ method: 'POST', path: `${DEV_PATHS.snapshots}/${name}/load` }),
});

/** `vault dev snapshot delete NAME`: deletes a snapshot. */
export const defineSnapshotDelete = onSnapshots({
  args: { '<name>': NAME },
  flags: FLAGS.confirm,
  view: RESULT_VIEWS.snapshot,
  help: DEV_HELP,
  examples: ['vault dev snapshot delete seeded'],
  loss: (name) => `The snapshot ${name} is lost.`,
  onFile: (snapshots, name) => snapshots.delete(name).then(() => ({ name })),
  onDaemon: (name) => ({ method: 'DELETE', path: `${DEV_PATHS.snapshots}/${name}` }),
});

const NEW_SCHEMA = 'make a new vault in another schema with `vault init --store`, and drop the schema of this one';

const RESET_FLAGS = { compact: flag('--compact', 'also return free space to the file system, like `vault compact`') };

/** `vault dev reset`: removes all tokens. */
export const defineReset = onFile(
  {
    flags: { ...FLAGS.tenant, ...RESET_FLAGS, ...FLAGS.confirm },
    view: RESULT_VIEWS.reset,
    help: RESET_HELP,
    examples: ['vault dev reset --yes', 'vault dev reset --yes --compact', 'vault dev reset --tenant ID'],
    async work(line, open) {
      const { tenant, compact } = line.read({ ...FLAGS.tenant, ...RESET_FLAGS });
      const file = chooseFile(line, NEW_SCHEMA);
      const confirm = await confirmation(
        line,
        `All tokens ${tenant === undefined ? '' : `of the tenant ${tenant} `}in ${file} are lost.`,
      );
      const opened = await open();
      await confirm();
      const { checkUnused, resetVault } = await import('../../../vault/admin.ts');
      // Check first: otherwise the command would remove the tokens and then fail.
      if (compact) await checkUnused(opened);
      const result = await resetVault(opened, tenant);
      // Compacting copies the file, and the vault never copies a damaged file.
      if (result.damaged === undefined) return { ...result, ...(compact && (await compactAfterReset(opened))) };
      if (compact) report('the file was not compacted');
      return result;
    },
    exitCode: damagedExitCode,
  },
  NEW_SCHEMA,
);

async function compactAfterReset(opened: FileHolderOptions) {
  try {
    const { bytes_before, bytes_after } = await (await import('../file/compact.ts')).compactWithProgress(opened);
    return { bytes_before, bytes_after };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    throw error.withMessage(`the tokens were removed, but the file was not compacted: ${error.message}`);
  }
}

interface OnSnapshots extends Omit<Printing<object>, 'flags' | 'work'> {
  readonly flags?: FlagRows;
  /** Returns what the command destroys, which the user confirms first. */
  readonly loss?: (name: string) => string;
  readonly onFile: (snapshots: VaultSnapshots, name: string, line: CommandLine) => Promise<object>;
  readonly onDaemon: (name: string, line: CommandLine) => Asked;
}

function onSnapshots({ loss, onFile, onDaemon, ...row }: OnSnapshots): Define {
  return printing({
    ...row,
    flags: { ...row.flags, ...FLAGS.daemon, ...FLAGS.file, ...FLAGS.profile, ...FLAGS.key },
    async work(line) {
      const [name = ''] = line.words;
      const { checkSnapshotName, vaultSnapshots } = await import('../../../vault/snapshots.ts');
      if (line.words.length > 0) checkSnapshotName(name);
      const target = chooseTarget(line);
      if (target.store !== undefined) refuseStore(target.store);
      if (target.file !== undefined) await requireDevFile(target.file);
      if (loss !== undefined) await confirmed(line, loss(name));
      if (target.url !== undefined) return (await openDevDaemon(line, target.url, {}, OTHERS))(onDaemon(name, line));
      const { file } = target;
      const credential = await readCredential({ file }, line);
      const snapshots = vaultSnapshots(file, async () => credential);
      return onFile(snapshots, name, line);
    },
  });
}

/** Throws the faults of a file that is not a vault, and `usage` unless `vault serve --dev` created the vault. */
async function requireDevFile(file: string): Promise<void> {
  const [{ checkUnopenedVault }, { requireDevVault }] = await Promise.all([
    import('../../../vault/vault.ts'),
    import('../dev/dev-vault.ts'),
  ]);
  await checkUnopenedVault(file);
  requireDevVault(file, OTHERS);
}
