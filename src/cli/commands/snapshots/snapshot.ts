import type { Command } from 'commander';
import type { VaultSnapshots } from '../../../vault/snapshots.ts';
import type { Finish } from '../../exit-codes.ts';
import { addFlags, type Environment, FLAGS, flagValue, type GlobalFlags, isSwitchedOn } from '../../global-flags.ts';
import type { ResultView } from '../../output/result-view.ts';
import { RESULT_VIEWS } from '../../output/result-views.ts';
import { confirmLoss } from '../../prompt.ts';
import { closing, defineOnFile } from '../on-file.ts';
import { checkTenantId } from '../tenants/check-tenant.ts';

const SAVE_FLAGS = {
  replace: { flag: '--replace', env: 'VAULT_REPLACE', help: 'save over a snapshot of this name' },
} as const;

const RESET_FLAGS = {
  tenant: { flag: '--tenant <id>', env: 'VAULT_TENANT_ID', help: 'this tenant only; `vault tenant list` shows them' },
} as const;

interface SnapshotFlags {
  readonly replace?: boolean;
  readonly tenant?: string;
}

type Work = (snapshots: VaultSnapshots) => Promise<object>;

const NAME = 'lower-case letters, digits, - and _';

const SAVE_HELP = `
Daemons and other commands go on meanwhile. The snapshot stands in FILE.snapshots, sealed as the vault is, and holds no
key: it opens with the keys that the vault has. It is gone for good when \`vault keys rotate\` has destroyed those.`;

const LOAD_HELP = `
Daemons go on, and see the records of the snapshot from their next request on. The audit and the keys do not go back;
neither do tenants that were made since. API keys that were deleted or made anew since work again as they did.`;

const RESET_HELP = `
Tenants, applications, API keys and the audit stay. Ids of tokens that were deleted may be used again.
\`vault snapshot load\` is the way back to a state with tokens in it.`;

/** `vault snapshot save NAME`: a state to go back to. */
export function defineSnapshotSave(command: Command, finish: Finish): void {
  command.argument('<name>', NAME);
  addFlags(command, SAVE_FLAGS);
  define(command, finish, RESULT_VIEWS.snapshot, async (flags, env, name) => {
    const replace = isSwitchedOn(flags.replace, env, SAVE_FLAGS.replace);
    return async (snapshots) => ({ ...(await snapshots.save(name, { replace })) });
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
  define(command, finish, RESULT_VIEWS.snapshot, async (flags, env, name) => {
    await confirmed(flags, env, `Everything that changed since the snapshot ${name} is lost.`);
    return async (snapshots) => ({ ...(await snapshots.load(name)) });
  });
  command.addHelpText('after', LOAD_HELP);
}

/** `vault snapshot delete NAME`. */
export function defineSnapshotDelete(command: Command, finish: Finish): void {
  command.argument('<name>', NAME);
  addFlags(command, FLAGS.confirm);
  define(command, finish, RESULT_VIEWS.snapshot, async (flags, env, name) => {
    await confirmed(flags, env, `The snapshot ${name} is lost.`);
    return async (snapshots) => {
      await snapshots.delete(name);
      return { name };
    };
  });
}

/** `vault reset`: a vault without tokens. */
export function defineReset(command: Command, finish: Finish): void {
  addFlags(command, { ...RESET_FLAGS, ...FLAGS.confirm });
  define(command, finish, RESULT_VIEWS.reset, async (flags, env) => {
    const tenant = checkTenantId(flagValue(flags.tenant, env, RESET_FLAGS.tenant));
    await confirmed(flags, env, tenant === undefined ? 'All tokens are lost.' : 'All tokens of the tenant are lost.');
    return async (snapshots) => ({ removed_tokens: await snapshots.reset(tenant) });
  });
  command.addHelpText('after', RESET_HELP);
}

async function confirmed(flags: GlobalFlags, env: Environment, loss: string): Promise<void> {
  if (!isSwitchedOn(flags.yes, env, FLAGS.confirm.yes)) await confirmLoss(loss);
}

function define(
  command: Command,
  finish: Finish,
  view: ResultView,
  prepare: (flags: SnapshotFlags & GlobalFlags, env: Environment, name: string) => Promise<Work>,
): void {
  defineOnFile<SnapshotFlags>(command, finish, view, async (flags, env, [name]) => {
    const { checkSnapshotName, openVaultSnapshots } = await import('../../../vault/snapshots.ts');
    if (name !== undefined) checkSnapshotName(name);
    const work = await prepare(flags, env, name ?? '');
    return async (opened) => closing(await openVaultSnapshots(opened), work);
  });
}
