import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Check, CheckFailure, type CheckOptions } from './check.ts';
import { ENVIRONMENT, startDaemon, VAULT_BIN } from './daemon-process.ts';
import { makeMemoryFolder } from './folder.ts';
import { killEachAfterLink } from './kill-steps.ts';
import { builtText, type Guard, removeGuards } from './patched-product.ts';
import { attackSecondPath, BIND_MOUNT, HARD_LINK, mayMount } from './paths-second.ts';
import { attackThings } from './paths-things.ts';
import { makeVaultFile } from './vault-file.ts';

const STUB = new URL('stub-statfs.mjs', import.meta.url).href;
const ALLOWED = ['--allow-network-filesystem'] as const;

/** The numbers of file systems, their names in messages, and whether the product refuses them. */
const FILE_SYSTEMS = [
  [0x6969, 'NFS', true],
  [0x517b, 'SMB', true],
  [0xff534d42, 'SMB', true],
  [0xfe534d42, 'SMB', true],
  [0x01021997, '9p', false],
  [0x65735546, 'FUSE', false],
  // Local file systems: ext4 and tmpfs.
  [0xef53, undefined, false],
  [0x01021994, undefined, false],
] as const;

/** Runs init, serve, doctor and /readyz on each file system. Returns the number of file systems. */
async function tryFileSystems(isSample: boolean, bin = VAULT_BIN): Promise<number> {
  const chosen = isSample ? FILE_SYSTEMS.filter((_, n) => n === 0 || n >= 5) : FILE_SYSTEMS;
  for (const row of chosen) await tryFileSystem(row, bin);
  return chosen.length;
}

async function tryFileSystem([type, name, isRefused]: (typeof FILE_SYSTEMS)[number], bin: string): Promise<void> {
  using folder = makeMemoryFolder();
  const demand = (what: string, holds: boolean, shown: string) => {
    if (!holds) throw new CheckFailure(`${name ?? type}: ${what}: ${shown.slice(0, 300)}`);
  };
  const sentence = `is on ${name}, whose locks may do nothing`;
  const isNamed = (text: string) => text.includes(name === undefined ? 'whose locks may do nothing' : sentence);
  const { file, keyFile } = await makeVaultFile(folder.path);
  const own = { STATFS_TYPE: String(type), NODE_OPTIONS: `--import ${STUB}` };
  const vault = (...words: readonly string[]) =>
    spawnSync(process.execPath, [bin, ...words], {
      env: { ...ENVIRONMENT, ...own },
      encoding: 'utf8',
      timeout: 20_000,
    });
  const made = join(folder.path, 'new.db');
  const init = vault('init', '--file', made);
  demand('init', init.status === (isRefused ? 2 : 0), init.stderr);
  demand('init names it', isNamed(init.stderr) === (name !== undefined), init.stderr);
  demand('init leaves nothing', existsSync(made) === !isRefused && existsSync(`${made}.key`) === !isRefused, '');
  const env = ['env', ...Object.entries(own).map(([variable, value]) => `${variable}=${value}`)];
  const options = {
    file,
    readyFile: join(folder.path, 'ready'),
    wrap: (line: readonly string[]) => [...env, ...line],
    bin,
  };
  if (isRefused) {
    const refusal = await startDaemon(options).then(
      (daemon) => daemon.stop('SIGKILL').then(() => 'it served'),
      (error: unknown) => String(error),
    );
    demand('serve', isNamed(refusal), refusal);
    const allowed = vault('init', '--file', made, ...ALLOWED);
    demand('init with the flag', allowed.status === 0 && isNamed(allowed.stderr), allowed.stderr);
  }
  const daemon = await startDaemon({ ...options, ...(isRefused && { flags: ALLOWED }) });
  const ready = await (await fetch(`${daemon.url}/readyz`)).text();
  await daemon.stop('SIGTERM');
  demand('/readyz', isNamed(ready) === (name !== undefined), ready);
  const doctor = vault('doctor', '--file', file, '--key-file', keyFile);
  demand('doctor', doctor.status === 0 && isNamed(doctor.stdout) === (name !== undefined), doctor.stdout);
}

const CREATES = { quick: 40, full: 500 } as const;

/** Nothing that a path leads to is destroyed, and a vault with a second path is refused. */
async function run({ quick }: CheckOptions) {
  const creates = CREATES[quick ? 'quick' : 'full'];
  const isMounted = mayMount();
  return {
    creates_beside_a_hard_link: await attackSecondPath(HARD_LINK, creates),
    // test/unit/mount-points.test.ts has the table of the parser.
    creates_beside_a_bind_mount: isMounted ? await attackSecondPath(BIND_MOUNT, creates) : 'this system may not mount',
    file_systems: await tryFileSystems(quick),
    devices_pipes_and_links: await attackThings(quick),
    // Check 27 has these kills in a quick run, too.
    kills_between_link_and_unlink: quick ? 0 : await killEachAfterLink(),
  };
}

/** The guards, as the built product has them, and the attacks that must succeed without them. */
const GUARDS: readonly Guard[] = [
  [builtText('isOnlyRead||assertOnePath(path,found),found'), 'found', (bin) => attackSecondPath(HARD_LINK, 20, bin)],
  [builtText('!found?.isNetwork||isAllowed'), 'true', (bin) => tryFileSystems(true, bin)],
  [builtText('if(found.isFile())return;'), 'return;', (bin) => attackThings(true, bin)],
];

export const CHECK: Check = { number: 35, name: 'paths', quick: true, run, control: () => removeGuards(GUARDS) };
