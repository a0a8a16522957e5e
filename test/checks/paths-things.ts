import { spawnSync } from 'node:child_process';
import { lstatSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CheckFailure } from './check.ts';
import { ENVIRONMENT, runBriefly, VAULT_BIN } from './daemon-process.ts';
import { makeMemoryFolder } from './folder.ts';
import { inParallel } from './perform.ts';
import { makeVaultFile } from './vault-file.ts';

const IS_ROOT = process.getuid?.() === 0;

const run = (program: string, ...words: readonly string[]) => {
  if (spawnSync(program, words, { stdio: 'ignore' }).status !== 0) throw new Error(`${program} failed`);
};

/** What may stand at a path, and how it is made. Only root can make devices. */
const THINGS: Readonly<Record<string, (at: string) => unknown>> = {
  fifo: (at) => run('mkfifo', at),
  link: (at) => symlinkSync('nothing', at),
  ...(IS_ROOT && {
    // The numbers of /dev/null, and of a disk that no machine has.
    device: (at: string) => run('mknod', at, 'c', '1', '3'),
    block: (at: string) => run('mknod', at, 'b', '250', '250'),
  }),
  folder: (at) => mkdirSync(at),
  link_to_device: (at) => symlinkSync('/dev/null', at),
};

/** Every path that a command creates or replaces: the words of the command, with AT for the path. */
export const WRITTEN: Readonly<Record<string, readonly string[]>> = {
  'serve --ready-file': ['serve', '--port', '0', '--ready-file', 'AT'],
  'serve --anchor': ['serve', '--port', '0', '--anchor', 'AT'],
  'serve --dev --file FILE.dev.json': ['serve', '--dev', '--port', '0', '--file', 'new.db'],
  'init --file': ['init', '--file', 'AT'],
  'init FILE.key': ['init', '--file', 'new.db'],
  'init --key-out': ['init', '--file', 'new.db', '--key-out', 'AT'],
  keygen: ['keygen', '--out', 'AT'],
  backup: ['backup', 'AT'],
  'restore --file': ['restore', 'copy.db', '--file', 'AT'],
  'restore --move-aside': ['restore', 'copy.db', '--file', 'AT', '--move-aside'],
  'move --to': ['move', '--from', 'vault.db', '--to', 'AT'],
  'move FILE.moved': ['move', '--from', 'vault.db', '--to', 'new.db'],
  'dev snapshot save': ['dev', 'snapshot', 'save', 'one', '--replace'],
  'export --out': ['export', '--plaintext', '--out', 'AT'],
  'import --errors': ['import', 'rows', '--errors', 'AT'],
  'import --resume': ['import', 'rows', '--resume', 'AT'],
  'audit export --out': ['audit', 'export', '--out', 'AT'],
  'audit prune --archive': ['audit', 'prune', '--before', '1ms', '--yes', '--archive', 'AT'],
  'seed apply --out': ['seed', 'apply', 'seed.yaml', '--out', 'AT'],
  'profile use': ['profile', 'use', 'one'],
  'serve --socket': ['serve', '--socket', 'AT'],
};

const AT: Readonly<Record<string, string>> = {
  'serve --dev --file FILE.dev.json': 'new.db.dev.json',
  'init FILE.key': 'new.db.key',
  'move FILE.moved': 'vault.db.moved',
  'dev snapshot save': 'vault.db.snapshots/one.db',
  'profile use': 'config/default',
};

const numbersOf = (path: string) => {
  const { ino, mode, rdev, nlink } = lstatSync(path);
  return JSON.stringify({ ino, mode, rdev, nlink });
};

/** Makes a vault, its backup, and what `WRITTEN` reads. Resolves to the variables that name the vault. */
export async function makeInputs(folder: string, bin: string) {
  const { file, keyFile, everything } = await makeVaultFile(folder);
  writeFileSync(join(folder, 'rows'), '{"type":"token","data":"a"}\n');
  writeFileSync(join(folder, 'seed.yaml'), 'tokens: {}\n');
  const env = { ...ENVIRONMENT, VAULT_FILE: file, VAULT_KEY_FILE: keyFile, VAULT_API_KEY: everything };
  const { code, stderr } = await runBriefly(folder, env, [process.execPath, bin, 'backup', 'copy.db']);
  if (code !== 0) throw new Error(stderr);
  return env;
}

/** Makes what else commands find beside a vault: a profile, a folder for snapshots, and a list of the dev server. */
export function makeBeside(folder: string): void {
  mkdirSync(join(folder, 'config', 'profiles'), { recursive: true, mode: 0o700 });
  mkdirSync(join(folder, 'vault.db.snapshots'), { mode: 0o700 });
  writeFileSync(join(folder, 'vault.db.dev.json'), '{}');
  writeFileSync(join(folder, 'config', 'profiles', 'one.json'), '{"url":"http://127.0.0.1:1"}', { mode: 0o600 });
}

/** Runs a command on each thing at each path. Each must be refused and stay. Returns the number of attempts. */
export async function attackThings(isSample: boolean, bin = VAULT_BIN): Promise<number> {
  using folder = makeMemoryFolder();
  const base = await makeInputs(folder.path, bin);
  const pairs = Object.keys(WRITTEN).flatMap((name) => Object.keys(THINGS).map((thing) => ({ name, thing })));
  const chosen = isSample ? pairs.filter(({ thing }, n) => thing === 'fifo' || n % 12 === 0) : pairs;
  await inParallel(chosen.length, 2, async (index) => {
    const { name = '', thing = '' } = chosen[index] ?? {};
    const own = join(folder.path, `case-${index}`);
    await attackOne(own, folder.path, { name, thing, base, bin });
    rmSync(own, { recursive: true, force: true });
  });
  return chosen.length;
}

interface Attempt {
  readonly name: string;
  readonly thing: string;
  readonly base: NodeJS.ProcessEnv;
  readonly bin: string;
}

async function attackOne(own: string, from: string, { name, thing, base, bin }: Attempt): Promise<void> {
  makeBeside(own);
  for (const file of ['vault.db', 'vault.db.key', 'copy.db', 'rows', 'seed.yaml'])
    run('cp', '-p', join(from, file), join(own, file));
  const at = join(own, AT[name] ?? 'thing');
  THINGS[thing]?.(at);
  const before = numbersOf(at);
  const names = readdirSync(own).length;
  const words = (WRITTEN[name] ?? []).map((word) => (word === 'AT' ? at : word));
  // A new vault gets its own key file.
  const { VAULT_FILE: _file, VAULT_KEY_FILE: _key, ...bare } = base;
  const isNew = words.includes('new.db') && words[0] !== 'move';
  const paths = { VAULT_FILE: join(own, 'vault.db'), VAULT_KEY_FILE: join(own, 'vault.db.key') };
  const env = { ...bare, ...(!isNew && paths), VAULT_CONFIG_DIR: join(own, 'config') };
  const { code, stderr } = await runBriefly(own, env, [process.execPath, bin, ...words]);
  const what = `${name}, ${thing}`;
  if (numbersOf(at) !== before) throw new CheckFailure(`${what}: it was replaced`);
  if (code === 0 || code === null) throw new CheckFailure(`${what}: exit code ${code} ${stderr.slice(0, 300)}`);
  if (/internal error|TypeError|at .*\.js:/.test(stderr)) throw new CheckFailure(`${what}: ${stderr.slice(0, 300)}`);
  if (readdirSync(own).length !== names) throw new CheckFailure(`${what}: it left ${readdirSync(own)}`);
}
