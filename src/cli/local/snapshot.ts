import type { Command } from 'commander';
import { type Printable, stringifyJson } from '../../core/json/stringify.ts';
import type { VaultSnapshots } from '../../vault-snapshots.ts';
import { readCredential } from '../credential.ts';
import { chooseFile } from '../door.ts';
import type { Finish } from '../exit-codes.ts';
import {
  addFlags,
  CONFIRM_FLAGS,
  type Environment,
  FILE_FLAGS,
  flagValue,
  type GlobalFlags,
  isSwitchedOn,
  OUTPUT_FLAGS,
  PROFILE_FLAGS,
  typedFlags,
} from '../global-flags.ts';
import { createPrinter } from '../output/print-result.ts';
import type { ResultView } from '../output/result-view.ts';
import { withProfile } from '../profiles/with-profile.ts';
import { confirmLoss } from '../prompt.ts';
import { SNAPSHOT_VIEWS } from './snapshot-view.ts';
import { checkTenantId } from './tenant-id.ts';

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
  define(command, finish, SNAPSHOT_VIEWS.one, async (flags, env, name) => {
    const replace = isSwitchedOn(flags.replace, env, SAVE_FLAGS.replace);
    return async (snapshots) => ({ ...(await snapshots.save(name, { replace })) });
  });
  command.addHelpText('after', SAVE_HELP);
}

/** `vault snapshot list`. */
export function defineSnapshotList(command: Command, finish: Finish): void {
  define(command, finish, SNAPSHOT_VIEWS.list, async () => async (snapshots) => ({ data: await snapshots.list() }));
}

/** `vault snapshot load NAME`: the records as they were, in one step. */
export function defineSnapshotLoad(command: Command, finish: Finish): void {
  command.argument('<name>', NAME);
  addFlags(command, CONFIRM_FLAGS);
  define(command, finish, SNAPSHOT_VIEWS.one, async (flags, env, name) => {
    await confirmed(flags, env, `Everything that changed since the snapshot ${name} is lost.`);
    return async (snapshots) => ({ ...(await snapshots.load(name)) });
  });
  command.addHelpText('after', LOAD_HELP);
}

/** `vault snapshot delete NAME`. */
export function defineSnapshotDelete(command: Command, finish: Finish): void {
  command.argument('<name>', NAME);
  addFlags(command, CONFIRM_FLAGS);
  define(command, finish, SNAPSHOT_VIEWS.one, async (flags, env, name) => {
    await confirmed(flags, env, `The snapshot ${name} is lost.`);
    return async (snapshots) => {
      await snapshots.delete(name);
      return { name };
    };
  });
}

/** `vault reset`: a vault without tokens. */
export function defineReset(command: Command, finish: Finish): void {
  addFlags(command, { ...RESET_FLAGS, ...CONFIRM_FLAGS });
  define(command, finish, SNAPSHOT_VIEWS.reset, async (flags, env) => {
    const tenant = checkTenantId(flagValue(flags.tenant, env, RESET_FLAGS.tenant));
    await confirmed(flags, env, tenant === undefined ? 'All tokens are lost.' : 'All tokens of the tenant are lost.');
    return async (snapshots) => ({ removed_tokens: await snapshots.reset(tenant) });
  });
  command.addHelpText('after', RESET_HELP);
}

async function confirmed(flags: GlobalFlags, env: Environment, loss: string): Promise<void> {
  if (!isSwitchedOn(flags.yes, env, CONFIRM_FLAGS.yes)) await confirmLoss(loss);
}

/** `prepare` checks the flags, and asks what is to be asked, before the file is opened. */
function define(
  command: Command,
  finish: Finish,
  view: ResultView,
  prepare: (flags: SnapshotFlags & GlobalFlags, env: Environment, name: string) => Promise<Work>,
): void {
  addFlags(command, { ...FILE_FLAGS, ...PROFILE_FLAGS, ...OUTPUT_FLAGS });
  command.action(async () => {
    const flags = typedFlags<SnapshotFlags>(command);
    const env = await withProfile(flags, process.env);
    const printer = createPrinter(flags, env, view);
    const { checkSnapshotName, openVaultSnapshots } = await import('../../vault-snapshots.ts');
    const name = command.args[0];
    if (name !== undefined) checkSnapshotName(name);
    const work = await prepare(flags, env, name ?? '');
    const file = chooseFile(flags, env);
    const credential = await readCredential(file, flags, env);
    const snapshots = await openVaultSnapshots({ file, credential });
    try {
      const result = await work(snapshots);
      await printer.print(stringifyJson(result as Printable));
    } finally {
      await snapshots.close();
    }
    finish(0);
  });
}
