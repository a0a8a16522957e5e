import { Fault } from '../../../core/fault.ts';
import type { VaultAdmin } from '../../../vault/admin.ts';
import { canPrompt } from '../../credential/prompt.ts';
import { onlyOne } from '../../credential/read-credential.ts';
import { report } from '../../exit/report-failure.ts';
import { FLAGS, type FlagValues, flag, oneShot } from '../../flags/global-flags.ts';
import { progressLine } from '../../output/progress-line.ts';
import { RESULT_VIEWS } from '../../output/result-views.ts';
import { type Opening, withAdmin } from '../on-file.ts';
import { type CommandLine, confirmation, confirmed } from '../printing.ts';
import { damagedExitCode } from '../tenants/damaged-exit-code.ts';
import {
  askNewCredential,
  checkLabel,
  isUniform,
  LABEL_FLAGS,
  type NewCredential,
  provideNamed,
  WEAK_PASSPHRASE_FLAGS,
} from './new-credential.ts';

const ADD_FLAGS = {
  newKeyFile: flag('--new-key-file <path>', 'the key file to add; a missing file is created (0600)'),
  newKeyCommand: flag('--new-key-command <command>', 'a program that prints the key to add, with arguments; no shell'),
  newPassphraseFile: flag('--new-passphrase-file <path>', 'the passphrase to add; - for standard input'),
  ...LABEL_FLAGS,
  ...WEAK_PASSPHRASE_FLAGS,
};

const REMOVE_FLAGS = {
  slot: flag('--slot <number>', 'the slot to remove; `vault keys list` shows the slots'),
  ...LABEL_FLAGS,
};

const LIST_FLAGS = {
  tenants: oneShot('--tenants', 'show the keys of each tenant instead, and how many records wait for newer ones'),
};

/** `vault keys list`: lists the slots and marks those that the given credential opens, or lists the keys of each tenant. */
export const defineKeysList = withAdmin({
  flags: LIST_FLAGS,
  view: (read) => (read(LIST_FLAGS).tenants ? RESULT_VIEWS.keysStatus : RESULT_VIEWS.keysList),
  help: `
With --tenants, \`stale\` counts the records that an unfinished rotation has left. \`vault keys rotate\` finishes the rotation.`,
  examples: ['vault keys list', 'vault keys list --tenants'],
  async work({ read }, open) {
    const admin = await open();
    return read(LIST_FLAGS).tenants ? admin.status() : { data: await admin.slots() };
  },
  exitCode: damagedExitCode,
});

/** `vault keys add`: adds a slot; changes no record, so a running daemon keeps working. */
export const defineKeysAdd = withAdmin({
  flags: ADD_FLAGS,
  view: RESULT_VIEWS.keysSlot,
  examples: [
    'vault keys add --new-key-file spare.key --label spare',
    "vault keys add --new-key-command 'pass show vault'",
    'vault keys add --passphrase-file old.txt --new-passphrase-file new.txt',
  ],
  async work({ read }, open) {
    const values = read(ADD_FLAGS);
    const label = checkLabel(values.label);
    const admin = await open();
    const { credential, removeKeyFile } = await newCredential(values);
    try {
      return await admin.addSlot(credential, { allowWeak: values.weakPassphrase, label });
    } catch (error) {
      // Keep the key file if it opens the vault: another command may have added it. Skip this check for a passphrase:
      // it has no key file, and the check would repeat the key derivation of every slot.
      const isFile = credential.kind === 'key_file';
      if (isFile && !(await admin.isOpenedBy(credential).catch(() => true))) await removeKeyFile();
      throw error;
    }
  },
});

/** `vault keys remove`: stops the slot's credential from opening this vault. It still opens older copies. */
export const defineKeysRemove = withAdmin({
  args: { '[slot]': 'the same as --slot' },
  flags: { ...REMOVE_FLAGS, ...FLAGS.confirm },
  view: RESULT_VIEWS.keysSlot,
  help: `
The removed key still opens backups and older copies. \`vault keys rotate --master\` creates new keys for the vault.`,
  examples: ['vault keys remove --slot 1', 'vault keys remove --label lost-laptop'],
  async work(line, open) {
    const named = namedSlot(line);
    const shown = typeof named === 'number' ? named : `"${named}"`;
    const confirm = await confirmation(line, `The key of slot ${shown} will no longer open this vault.`);
    const admin = await open();
    await confirm();
    return admin.removeSlot(named);
  },
});

/** Returns the number or the label of the slot to remove. Flags override variables. */
function namedSlot({ words, flags, read }: CommandLine): number | string {
  const typed = [words.length > 0, 'slot' in flags, 'label' in flags].filter(Boolean).length;
  if (typed > 1) throw new Fault('usage', 'only one of <slot>, --slot and --label can be given');
  const { slot, label } = read(REMOVE_FLAGS);
  const byLabel = 'label' in flags || (typed === 0 && label !== undefined);
  if (!byLabel) return parseSlot(words[0] ?? slot);
  if (typed === 0 && slot !== undefined) {
    throw new Fault('usage', 'VAULT_SLOT and VAULT_SLOT_LABEL cannot be given together');
  }
  return checkLabel(label) ?? '';
}

function parseSlot(text: string | undefined): number {
  if (text !== undefined && /^\d{1,2}$/.test(text)) return Number(text);
  const { slot, label } = REMOVE_FLAGS;
  const fact =
    text === undefined
      ? `--slot (${slot.env}) or --label (${label.env}) must be given`
      : `--slot (${slot.env}) must be the number of a slot`;
  throw new Fault('usage', fact, { hint: 'list them with `vault keys list`' });
}

async function newCredential(values: FlagValues<typeof ADD_FLAGS>): Promise<NewCredential> {
  const named = onlyOne([
    ['keyFile', '--new-key-file', values.newKeyFile],
    ['keyCommand', '--new-key-command', values.newKeyCommand],
    ['passphraseFile', '--new-passphrase-file', values.newPassphraseFile],
  ]);
  const provided = await provideNamed(named ?? {}, '--new-');
  if (provided !== undefined) return provided;
  if (!canPrompt()) {
    throw new Fault('usage', 'no new key is given', {
      hint: 'set --new-key-file (VAULT_NEW_KEY_FILE), --new-key-command (VAULT_NEW_KEY_COMMAND) or --new-passphrase-file (VAULT_NEW_PASSPHRASE_FILE)',
    });
  }
  return askNewCredential('New passphrase', values.weakPassphrase);
}

const ROTATE_FLAGS = {
  ...FLAGS.tenant,
  master: flag(
    '--master',
    'replace the master key, too; only the slot of the given credential remains',
    'VAULT_ROTATE_MASTER',
  ),
  indexes: flag('--indexes', 'replace the index keys, too; all fingerprints change', 'VAULT_ROTATE_INDEXES'),
};

const ROTATE_HELP = `
Daemons and other commands keep running. The next rotation resumes an interrupted one.
Rotation skips damaged tenants, and the exit code is then 9. \`vault doctor\` finds the damage.
Every rotation replaces the data keys. --indexes changes the \`fingerprint\` of every token, so fingerprints that clients
stored no longer match. Backups and snapshots still hold the old keys.
After --master, add other key files and passphrases again with \`vault keys add\`.`;

/** `vault keys rotate`: makes new keys, reseals every record, and destroys the old keys. */
export const defineKeysRotate = withAdmin({
  flags: { ...ROTATE_FLAGS, ...FLAGS.confirm },
  view: RESULT_VIEWS.keysRotate,
  help: ROTATE_HELP,
  examples: ['vault keys rotate --yes', 'vault keys rotate --tenant ID --indexes', 'vault keys rotate --master'],
  async work(line, open) {
    const { tenant, master, indexes } = line.read(ROTATE_FLAGS);
    const admin = await open();
    // A new master key is wrapped for the given credential, so this makes a new slot.
    if (master && isUniform(admin.opening.credential)) {
      throw new Fault('usage', '--master: the key that opens this vault is 32 equal bytes', {
        hint: 'add another with `vault keys add --new-key-file FILE`, then rotate with `--key-file FILE`',
      });
    }
    // Read the folder first: a failure after the rotation would hide its result.
    const snapshots = await countSnapshots(admin.opening);
    const others = master ? (await admin.slots()).filter(({ current }) => !current) : [];
    const losses = [
      ...(others.length > 0 ? [lostSlots(others)] : []),
      ...(indexes ? ['All fingerprints change. Fingerprints that clients stored no longer match.'] : []),
    ];
    if (losses.length > 0) await confirmed(line, losses.join(' '));
    const progress = progressLine('resealing');
    const result = await admin.rotate({ tenantId: tenant, master, indexes }, progress.show).finally(progress.end);
    if (indexes) report('all fingerprints have changed; fingerprints that clients stored no longer match');
    if (snapshots > 0) reportSnapshots(snapshots);
    return result;
  },
  exitCode: damagedExitCode,
});

async function countSnapshots({ file }: Opening): Promise<number> {
  if (file === undefined) return 0;
  return (await (await import('../../../vault/snapshots.ts')).snapshotNames(file)).length;
}

/** Reports the snapshots of a rotated vault: copies of the file with its old keys. */
function reportSnapshots(count: number): void {
  const what = count === 1 ? '1 snapshot still holds' : `${count} snapshots still hold`;
  report(`${what} the old keys`, 'delete them with `vault dev snapshot delete`');
}

function lostSlots(slots: Awaited<ReturnType<VaultAdmin['slots']>>): string {
  const what = slots.length === 1 ? 'key file or passphrase' : 'key files or passphrases';
  const named = slots.map(({ slot, label }) => (label === undefined ? `slot ${slot}` : `slot ${slot} "${label}"`));
  return `${slots.length} other ${what} will no longer open this vault: ${named.join(', ')}.`;
}
