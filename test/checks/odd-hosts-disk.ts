import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { CheckFailure } from './check.ts';
import { VAULT_BIN } from './daemon-process.ts';
import { makeMemoryFolder } from './folder.ts';
import { mayMount, UNSHARE } from './paths-second.ts';
import { makeBeside, makeInputs, WRITTEN } from './paths-things.ts';
import { inParallel } from './perform.ts';
import { runBriefly } from './run-briefly.ts';

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
