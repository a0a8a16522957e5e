import { existsSync } from 'node:fs';
import { shellWord } from '../../../client/shell-word.ts';
import { Fault } from '../../../core/fault.ts';
import type { VaultLocation } from '../../../vault/location.ts';
import { keyFileBeside, namedCredential, readCredential } from '../../credential/read-credential.ts';
import { FLAGS, flag, oneShot } from '../../flags/global-flags.ts';
import { parseLocation } from '../../flags/target.ts';
import { progressLine } from '../../output/progress-line.ts';
import { RESULT_VIEWS } from '../../output/result-views.ts';
import { type CommandLine, printing } from '../printing.ts';

const MOVE_FLAGS = {
  from: flag('--from <vault>', 'the vault: a file, or postgres://user@host/database', 'VAULT_MOVE_FROM'),
  to: flag('--to <vault>', 'a new file, or a database without a vault', 'VAULT_MOVE_TO'),
  keepSource: oneShot('--keep-source', 'make a copy, and leave the vault as it is'),
  verify: oneShot('--verify <depth>', 'full: also open every record of the copy, as `vault doctor` does'),
  abort: oneShot('--abort', 'undo a killed move, so that the source serves again'),
  grant: flag('--grant <role>', 'for a database: the role of the daemons; it can use the tables, but not alter them'),
};

const HELP = `
Copies all rows with their sealed values, compares a digest of each table, checks the audit of the copy, and then moves
the service: a file becomes FILE.moved, and daemons on a database report vault_moved. The same key opens the new vault. A
file must not be in use; daemons on a database answer reads, and writes fail with 503 meanwhile. After a killed move, the
source serves: run the command again, or --abort.`;

/** `vault move`: moves or copies a vault between files and databases. */
export const defineMove = printing({
  flags: { ...MOVE_FLAGS, ...FLAGS.credential, insecureStore: FLAGS.store.insecureStore, ...FLAGS.permissions },
  view: RESULT_VIEWS.move,
  help: HELP,
  examples: [
    "vault move --from vault.db --to 'postgres://owner@db.test/vault' \\\n    --grant daemon",
    "vault move --from 'postgres://owner@db.test/vault' --to vault.db \\\n    --key-file vault.key --verify full",
    'vault move --abort --from vault.db --to copy.db',
  ],
  work: move,
});

async function move(line: CommandLine) {
  const { keepSource, verify, abort, grant, ...named } = line.read(MOVE_FLAGS);
  const from = requireLocation('--from', named.from, line);
  const to = requireLocation('--to', named.to, line);
  if (verify !== undefined && verify !== 'full') throw new Fault('usage', '--verify must be full');
  if (grant !== undefined && to.store === undefined && 'grant' in line.flags) {
    throw new Fault('usage', '--grant needs a database in --to');
  }
  const shown = { from: shownAs(from), to: shownAs(to) };
  const { moveVault, abortMove } = await import('../../../vault/move.ts');
  if (abort) {
    await abortMove({ from, to });
    line.remark(`${shown.from} serves again; run \`vault move\` again to move it`);
    return { state: 'aborted', ...shown };
  }
  const copying = progressLine('moving');
  const comparing = progressLine('comparing rows');
  const checking = progressLine('checking the copy');
  const moved = await moveVault(
    { from, to, ...(to.store !== undefined && { grant }) },
    {
      readCredential: () => readCredential(from, line),
      keepSource,
      full: verify === 'full',
      copying: copying.show,
      comparing: comparing.show,
      checking: checking.show,
    },
  ).finally(() => {
    for (const each of [copying, comparing, checking]) each.end();
  });
  line.remark(nextStep(from, keepSource, `${servedAs(to, grant)}${credentialWords(from, line)}`));
  return { state: keepSource ? 'copied' : 'moved', ...shown, ...moved };
}

/** Returns a sentence with what to do after a move or a copy. `opens` are the flags that name the new vault and its key. */
function nextStep(from: VaultLocation, isCopy: boolean, opens: string): string {
  if (isCopy) return `check the copy with \`vault doctor ${opens}\`; it lacks what ${shownAs(from)} stores from now on`;
  const old =
    from.file === undefined ? `drop the schema of ${shownAs(from)}` : `remove ${shellWord(`${from.file}.moved`)}`;
  return `serve the vault with \`vault serve ${opens}\`; when it works, ${old}`;
}

/** Returns the flag that names the new vault. For a database, it names the role of the daemons if one was granted. */
function servedAs(to: VaultLocation, grant: string | undefined): string {
  if (to.store === undefined) return `--file ${shellWord(shownAs(to))}`;
  const { whole } = to.store.url;
  return `--store ${shellWord(grant === undefined ? whole : urlOfRole(whole, grant))}`;
}

/** Returns the URL of a store for another role, without the certificate and the password file of the present one. */
function urlOfRole(url: string, role: string): string {
  const [address = '', query = ''] = url.split('?');
  const kept = query.split('&').filter((part) => part !== '' && !/^(?:sslcert|sslkey|passfile)=/.test(part));
  const named = address.replace(/\/\/(?:[^@/]*@)?/, () => `//${encodeURIComponent(role)}@`);
  return kept.length === 0 ? named : `${named}?${kept.join('&')}`;
}

/** Returns the flag that names the key; nothing for a variable, which still applies, and for a prompt. */
function credentialWords(from: VaultLocation, { flags, env }: CommandLine): string {
  const { keyFile, keyCommand, passphraseFile } = namedCredential({ flags, env: {} });
  // The arguments of the program may be secret.
  if (keyCommand !== undefined) return ` --key-command '…'`;
  if (passphraseFile !== undefined) return ` --passphrase-file ${shellWord(passphraseFile)}`;
  if (keyFile !== undefined) return ` --key-file ${shellWord(keyFile)}`;
  if (from.file === undefined || Object.keys(namedCredential({ flags: {}, env })).length > 0) return '';
  const beside = keyFileBeside(from.file);
  return existsSync(beside) ? ` --key-file ${shellWord(beside)}` : '';
}

function requireLocation(flag: string, text: string | undefined, line: CommandLine): VaultLocation {
  if (text !== undefined) return parseLocation(text, line);
  throw new Fault('usage', `${flag} is required`, {
    hint: 'name a file, or a database: postgres://user@host/database',
  });
}

const shownAs = (location: VaultLocation): string => location.file ?? location.store.url.whole;
