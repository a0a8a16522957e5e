import type { Command } from 'commander';
import type { Finish } from '../exit-codes.ts';
import { addFlags, CONFIRM_FLAGS, flagValue, isSwitchedOn } from '../global-flags.ts';
import { confirmLoss } from '../prompt.ts';
import { tell } from '../report-failure.ts';
import { KEYS_VIEWS } from './keys-view.ts';
import { progressLine } from './progress-line.ts';
import { checkTenantId } from './tenant-id.ts';
import { defineWithAdmin } from './with-admin.ts';

const ROTATE_FLAGS = {
  tenant: { flag: '--tenant <id>', env: 'VAULT_TENANT_ID', help: 'this tenant only; `vault tenant list` shows them' },
  master: {
    flag: '--master',
    env: 'VAULT_ROTATE_MASTER',
    help: 'a new master key too; of all slots only the one that opens the file now is left',
  },
  indexes: { flag: '--indexes', env: 'VAULT_ROTATE_INDEXES', help: 'new index keys too; all fingerprints change' },
} as const;

interface RotateFlags {
  readonly tenant?: string;
  readonly master?: boolean;
  readonly indexes?: boolean;
}

const HELP = `
Daemons and other commands go on meanwhile. A run that was stopped is resumed by the next.
New data keys are always made. With --indexes the \`fingerprint\` of every token changes, so those that clients have kept
match no more. Snapshots that were saved before can never be loaded again: the keys of their records are destroyed.
With --master other key files and passphrases must be added again with \`vault keys add\`.`;

/** `vault keys rotate`: new keys, every record sealed anew, the old keys destroyed. */
export function defineKeysRotate(command: Command, finish: Finish): void {
  addFlags(command, { ...ROTATE_FLAGS, ...CONFIRM_FLAGS });
  defineWithAdmin<RotateFlags>(command, finish, KEYS_VIEWS.rotate, async (flags, env) => {
    const tenantId = checkTenantId(flagValue(flags.tenant, env, ROTATE_FLAGS.tenant));
    const master = isSwitchedOn(flags.master, env, ROTATE_FLAGS.master);
    const indexes = isSwitchedOn(flags.indexes, env, ROTATE_FLAGS.indexes);
    const confirmed = isSwitchedOn(flags.yes, env, CONFIRM_FLAGS.yes);
    return async (admin, opened) => {
      const { countLoadableSnapshots } = await import('../../vault-snapshots.ts');
      const snapshots = await countLoadableSnapshots(opened);
      const others = master ? (await admin.slots()).filter(({ current }) => !current) : [];
      const losses = [
        ...(others.length > 0 ? [lostSlots(others.length)] : []),
        ...(snapshots > 0 ? [`${lostSnapshots(snapshots)}.`] : []),
        ...(indexes ? ['All fingerprints change: those that clients have kept match no more.'] : []),
      ];
      if (losses.length > 0 && !confirmed) await confirmLoss(losses.join(' '));
      const line = progressLine('sealing anew');
      const result = await admin.rotate({ tenantId, master, indexes }, line.show).finally(line.end);
      if (indexes) tell('fingerprints have changed: those that clients have kept match no more');
      if (snapshots > 0) tell(lostSnapshots(snapshots));
      return result;
    };
  });
  command.addHelpText('after', HELP);
}

function lostSlots(count: number): string {
  const what = count === 1 ? 'key file or passphrase' : 'key files or passphrases';
  return `${count} other ${what} will not open this file any more.`;
}

function lostSnapshots(count: number): string {
  return `${count} ${count === 1 ? 'snapshot' : 'snapshots'} can never be loaded again`;
}
