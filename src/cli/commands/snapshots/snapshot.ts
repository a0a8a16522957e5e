import type { Command } from 'commander';
import type { VaultSnapshots } from '../../../vault/snapshots.ts';
import type { Finish } from '../../exit-codes.ts';
import { addFlags, FLAGS } from '../../global-flags.ts';
import type { ResultView } from '../../output/result-view.ts';
import { RESULT_VIEWS } from '../../output/result-views.ts';
import { confirmLoss } from '../../prompt.ts';
import type { CommandLine } from '../define-printing.ts';
import { closing, defineOnFile } from '../on-file.ts';
import { checkTenantId, TENANT_FLAGS } from '../tenants/check-tenant.ts';

const SAVE_FLAGS = {
  replace: { flag: '--replace', env: 'VAULT_REPLACE', help: 'overwrite the snapshot of this name' },
} as const;

const NAME = 'lower-case letters, digits, - and _';

const SAVE_HELP = `
Daemons and other commands keep running. FILE.snapshots stores the snapshot, sealed like the vault, without keys: the keys
of the vault open it. \`vault keys rotate\` destroys those keys and makes the snapshot unloadable.`;

const LOAD_HELP = `
Daemons keep running and use the records of the snapshot from the next request on. The audit, the keys and newer tenants
stay as they are. API keys that were deleted or regenerated since the snapshot work again.`;

const RESET_HELP = `
Tenants, applications, API keys and the audit stay. Ids of deleted tokens may be used again.
\`vault snapshot load\` restores a state with tokens.`;

/** `vault snapshot save NAME`: a state to go back to. */
export function defineSnapshotSave(command: Command, finish: Finish): void {
  command.argument('<name>', NAME);
  addFlags(command, SAVE_FLAGS);
  define(command, finish, RESULT_VIEWS.snapshot, async ({ read }, name) => {
    const { replace } = read(SAVE_FLAGS);
    return (snapshots) => snapshots.save(name, { replace });
  });
  command.addHelpText('after', SAVE_HELP);
}

/** `vault snapshot list`. */
export function defineSnapshotList(command: Command, finish: Finish): void {
  define(command, finish, RESULT_VIEWS.snapshotList, async () => async (snapshots) => ({
    data: await snapshots.list(),
  }));
}

/** `vault snapshot load NAME`: the records as they were, in one step. */
export function defineSnapshotLoad(command: Command, finish: Finish): void {
  command.argument('<name>', NAME);
  addFlags(command, FLAGS.confirm);
  define(command, finish, RESULT_VIEWS.snapshot, async (line, name) => {
    await confirmed(line, `Everything that changed since the snapshot ${name} is lost.`);
    return (snapshots) => snapshots.load(name);
  });
  command.addHelpText('after', LOAD_HELP);
}

/** `vault snapshot delete NAME`. */
export function defineSnapshotDelete(command: Command, finish: Finish): void {
  command.argument('<name>', NAME);
  addFlags(command, FLAGS.confirm);
  define(command, finish, RESULT_VIEWS.snapshot, async (line, name) => {
    await confirmed(line, `The snapshot ${name} is lost.`);
    return async (snapshots) => {
      await snapshots.delete(name);
      return { name };
    };
  });
}

/** `vault reset`: a vault without tokens. */
export function defineReset(command: Command, finish: Finish): void {
  addFlags(command, { ...TENANT_FLAGS, ...FLAGS.confirm });
  define(command, finish, RESULT_VIEWS.reset, async (line) => {
    const tenant = checkTenantId(line.read(TENANT_FLAGS).tenant);
    await confirmed(line, tenant === undefined ? 'All tokens are lost.' : 'All tokens of the tenant are lost.');
    return async (snapshots) => ({ removed_tokens: await snapshots.reset(tenant) });
  });
  command.addHelpText('after', RESET_HELP);
}

async function confirmed({ read }: CommandLine, loss: string): Promise<void> {
  if (!read(FLAGS.confirm).yes) await confirmLoss(loss);
}

function define(
  command: Command,
  finish: Finish,
  view: ResultView,
  prepare: (line: CommandLine, name: string) => Promise<(snapshots: VaultSnapshots) => Promise<object>>,
): void {
  defineOnFile(command, finish, view, async (line) => {
    const [name] = line.words;
    const [{ checkSnapshotName }, { openVaultSnapshots }] = await Promise.all([
      import('../../../maintenance/vault-snapshots.ts'),
      import('../../../vault/snapshots.ts'),
    ]);
    if (name !== undefined) checkSnapshotName(name);
    const work = await prepare(line, name ?? '');
    return async (opened) => closing(await openVaultSnapshots(opened), work);
  });
}
