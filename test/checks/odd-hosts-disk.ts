import { spawnSync } from 'node:child_process';
import { chownSync, cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { CheckFailure } from './check.ts';
import { runBriefly, VAULT_BIN } from './daemon-process.ts';
import { makeMemoryFolder } from './folder.ts';
import { mayMount, UNSHARE } from './paths-second.ts';
import { makeBeside, makeInputs, WRITTEN } from './paths-things.ts';
import { inParallel } from './perform.ts';

/** Mounts a folder over itself, only for reading, in a process of its own mounts. */
const READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"';

/** The flag that a message names first, for rows of `WRITTEN` that have another name. */
const NAMED: Readonly<Record<string, string>> = {
  'serve --dev --file FILE.dev.json': '--file',
  'init FILE.key': '--file',
  'move FILE.moved': '--from',
  keygen: '--out',
  backup: 'out',
  'restore --move-aside': '--file',
  'profile use': 'profile',
};

/** The rows whose path comes from the environment: the message names the path, not a flag. */
const WITHOUT_FLAG: ReadonlySet<string> = new Set(['dev snapshot save']);

/** Runs each command that writes, with its path on a read-only disk. Returns their number. */
export async function tryReadOnlyDisk(isSample: boolean, bin = VAULT_BIN): Promise<number | string> {
  if (!mayMount()) return 'this system may not mount';
  using folder = makeMemoryFolder();
  const at = (...names: readonly string[]) => join(folder.path, ...names);
  const own = await makeInputs(folder.path, bin);
  const { VAULT_FILE: _file, VAULT_KEY_FILE, ...env } = own;
  makeBeside(at('ro'));
  for (const name of ['vault.db', 'vault.db.key']) cpSync(at(name), at('ro', name));
  const rows = Object.entries(WRITTEN).filter((_, at) => !isSample || at % 2 === 0);
  await inParallel(rows.length, 2, async (index) => {
    const [name = '', words = []] = rows[index] ?? [];
    const isGiven = words.includes('AT');
    const line = words.map((word) => {
      if (word === 'AT') return 'ro/thing';
      return !isGiven && /^(?:new|vault)\.db$/.test(word) ? `ro/${word}` : word;
    });
    const isNew = words.includes('new.db') && words[0] !== 'move';
    const derived = { VAULT_FILE: 'ro/vault.db', VAULT_KEY_FILE };
    const variables = { ...(isNew ? env : isGiven ? own : { ...env, ...derived }), VAULT_CONFIG_DIR: 'ro/config' };
    const command = [...UNSHARE, 'sh', '-c', READ_ONLY, 'sh', at('ro'), process.execPath, bin, ...line];
    const { code, stderr } = await runBriefly(folder.path, variables, command);
    const flag = NAMED[name] ?? /--[a-z-]+/.exec(name)?.[0] ?? '';
    const isNamed = WITHOUT_FLAG.has(name) || stderr.includes(`vault: ${flag}: `);
    if (code !== 2 || !isNamed || !stderr.includes('(EROFS)'))
      throw new CheckFailure(`${name} on a read-only disk: exit code ${code}: ${stderr}`);
  });
  return rows.length;
}

const USER = 12_345;
/** A user without an entry in /etc/passwd, and an empty environment: no HOME, no PATH. */
const AS_NOBODY = ['setpriv', `--reuid=${USER}`, `--regid=${USER}`, '--clear-groups', 'env', '-i', 'LANG=C'];

/** A command line, and what it prints. A command that serves is stopped when it has printed this. */
const COMMANDS: readonly (readonly [words: string, prints: RegExp, isServing?: true])[] = [
  ['init --file vault.db --key-out management.key', /"name":"management"/],
  ['tenant list', /"data":\[\{"id"/],
  ['apps list --api-key-file management.key', /"data":\[\{"id"/],
  ['tokens list --api-key-file management.key', /permission/],
  ['doctor', /"ok":true/],
  ['backup copy.db', /"file":/],
  ['keygen --out transfer.key', /"recipient":/],
  ['profile list', /"data":\[\]/],
  ['profile add one --file vault.db', /set VAULT_CONFIG_DIR/],
  ['exec -- /bin/true', /^$/],
  ['seed schema', /"tenant"/],
  ['completion bash', /vault/],
  ['serve --port 0', /listening on/, true],
  ['serve --dev --port 0', /management_key/, true],
  ['ui --port 0 --no-open --api-key-file management.key', /http:\/\/127\.0\.0\.1/, true],
];

const SAMPLE = /^(?:init|tokens|profile|serve|ui) /;

/** Runs commands as a user without a home folder. Returns their number, or why this system cannot run them. */
export async function tryWithoutHome(isSample: boolean, bin = VAULT_BIN): Promise<number | string> {
  using folder = makeMemoryFolder();
  const own = join(folder.path, 'own');
  if (spawnSync(AS_NOBODY[0] ?? '', [...AS_NOBODY.slice(1), process.execPath, bin, '--version']).status !== 0)
    return 'this system may not change the user, or the user cannot read the product';
  mkdirSync(own);
  chownSync(own, USER, USER);
  spawnSync('chmod', ['711', folder.path]);
  const chosen = isSample ? COMMANDS.filter(([line]) => SAMPLE.test(line)) : COMMANDS;
  for (const [line, prints, isServing = false] of chosen) {
    const words = [...AS_NOBODY, process.execPath, bin, ...line.split(' ')];
    const { printed } = await runBriefly(own, process.env, words, isServing ? prints : undefined);
    if (/unexpected error/.test(printed) || !prints.test(printed))
      throw new CheckFailure(`${line}: ${printed.slice(0, 300)}`);
  }
  return chosen.length;
}
