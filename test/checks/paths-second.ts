import { spawnSync } from 'node:child_process';
import { linkSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CheckFailure } from './check.ts';
import { ask, type DaemonProcess, startDaemon } from './daemon-process.ts';
import { makeMemoryFolder } from './folder.ts';
import { makeVaultFile, readTokens, withVault } from './vault-file.ts';

interface SecondPath {
  readonly way: string;
  /** The name of the second path. Its characters need an escape in /proc/self/mountinfo. */
  readonly name: string;
  /** Creates the second path, or returns the command prefix of a process that has it. */
  readonly make: (file: string, second: string) => readonly string[];
  readonly reports: RegExp;
}

export const HARD_LINK: SecondPath = {
  way: 'hard link',
  name: 'other.db',
  make: (file, second) => {
    linkSync(file, second);
    return [];
  },
  reports: /is one of 2 names of the same file/,
};

/** A process of its own mounts, as a container is. Without root, the process gets a user namespace, too. */
export const UNSHARE = ['unshare', '--mount', ...(process.getuid?.() === 0 ? [] : ['--map-root-user'])];
const MOUNT = 'mount --bind "$1" "$2" && shift 2 && exec "$@"';

export const BIND_MOUNT: SecondPath = {
  way: 'bind mount',
  name: 'a \\ folder/vault.db',
  make: (file, second) => {
    writeFileSync(second, '', { mode: 0o600 });
    return [...UNSHARE, 'sh', '-c', MOUNT, 'sh', file, second];
  },
  reports: /is a mount point\nhint: mount the folder/,
};

/** Returns whether this process may mount in a namespace of its own. */
export function mayMount(): boolean {
  using folder = makeMemoryFolder();
  const [from, to] = [join(folder.path, 'from'), join(folder.path, 'to')];
  for (const path of [from, to]) writeFileSync(path, '');
  const [program = '', ...words] = [...UNSHARE, 'sh', '-c', MOUNT, 'sh', from, to, 'true'];
  const { status } = spawnSync(program, words, { stdio: 'ignore' });
  return status === 0;
}

/** Starts a second daemon on a second path of a served file. It must be refused, and no create lost. */
export async function attackSecondPath(
  { way, name, make, reports }: SecondPath,
  creates: number,
  bin?: string,
): Promise<number> {
  using folder = makeMemoryFolder();
  const running: DaemonProcess[] = [];
  try {
    const vault = await makeVaultFile(folder.path);
    const { file, keyFile, everything } = vault;
    const second = join(folder.path, name);
    mkdirSync(join(second, '..'), { recursive: true });
    const flags = ['--key-file', keyFile];
    const at = (ready: string) => ({ readyFile: join(folder.path, ready), flags, bin });
    running.push(await startDaemon({ file, ...at('ready-1') }));
    const acknowledged = new Set<string>();
    await createTokens(running, everything, creates, acknowledged);
    const wrapper = make(file, second);
    const refusal = await startDaemon({ file: second, wrap: (line) => [...wrapper, ...line], ...at('ready-2') }).then(
      (started) => {
        running.push(started);
        return undefined;
      },
      (error: unknown) => String(error),
    );
    await createTokens(running, everything, creates, acknowledged);
    for (const daemon of running.splice(0)) await daemon.stop('SIGKILL');
    const lost = await countLost(second, vault, acknowledged, refusal !== undefined);
    if (refusal === undefined)
      throw new CheckFailure(`${way}: a second daemon served; ${lost} of ${acknowledged.size} creates are lost`);
    if (!reports.test(refusal)) throw new CheckFailure(`${way}: the second daemon reported ${refusal}`);
    if (lost > 0) throw new CheckFailure(`${way}: ${lost} of ${acknowledged.size} creates are lost`);
    return acknowledged.size;
  } finally {
    for (const daemon of running) await daemon.stop('SIGKILL');
  }
}

async function createTokens(
  daemons: readonly DaemonProcess[],
  key: string,
  count: number,
  acknowledged: Set<string>,
): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    const daemon = daemons[n % daemons.length];
    const id = `token-${acknowledged.size}-${n}`;
    const body = { id, type: 'token', data: { filling: 'x'.repeat(500) } };
    if ((await ask(daemon?.url ?? '', key, '/tokens', body)).status === 201) acknowledged.add(id);
  }
}

/** Opens the file after the attack. A file that cannot be read has lost everything. */
async function countLost(
  second: string,
  vault: Awaited<ReturnType<typeof makeVaultFile>>,
  acknowledged: ReadonlySet<string>,
  isWhole: boolean,
): Promise<number> {
  rmSync(second, { force: true });
  try {
    const found = await withVault(vault, (perform) => readTokens(perform, vault.everything));
    return [...acknowledged].filter((id) => !found.has(id)).length;
  } catch (error) {
    if (isWhole) throw error;
    return acknowledged.size;
  }
}
