import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { directClient } from '../../src/client/direct.ts';
import { remoteClient } from '../../src/client/remote.ts';
import type { Client } from '../../src/contract/call.ts';
import { openVault } from '../../src/vault/vault.ts';
import { createCaller, type Perform } from './perform.ts';

const VAULT = fileURLToPath(new URL('../../bin/vault.js', import.meta.url));
const MAX_START_MS = 30_000;
const execute = promisify(execFile);

/** Without this shell's settings of a vault. */
const ENVIRONMENT = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('VAULT_')));

export interface StartOptions {
  /** The most that it may have open (`ulimit -n`). */
  readonly descriptors?: number;
  /** More flags of `vault serve`. */
  readonly flags?: readonly string[];
  /** Flags of Node's. */
  readonly nodeFlags?: readonly string[];
  /** Another product than the one of this checkout. */
  readonly bin?: string;
}

/** A vault file of its own folder, and the built product on it. Whatever happens, its processes end with this one. */
export interface ServedVault {
  readonly file: string;
  readonly management: string;
  /** The key of a private application with all token permissions and `reveal` on everything. */
  readonly everything: string;
  /** Starts the daemon; resolves to the milliseconds until it accepts requests. */
  start(options?: StartOptions): Promise<number>;
  /** Of the running daemon. */
  url(): string;
  readonly running: () => boolean;
  /** Of the running daemon's process. */
  pid(): number;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  /** The running daemon, over HTTP. */
  readonly remote: Perform;
  /** The file itself, opened in this process. */
  readonly direct: Perform;
  /** One run of the command line on the file; its standard output. Rejects unless it exits with 0. */
  cli(args: readonly string[], key: string): Promise<string>;
  /** Ends the daemon and removes the folder. */
  close(): Promise<void>;
}

export async function serveVault(): Promise<ServedVault> {
  const folder = mkdtempSync(join(tmpdir(), 'vault-check-'));
  const file = join(folder, 'vault.db');
  const readyFile = join(folder, 'ready.json');
  const clients: Client[] = [];
  let daemon: ChildProcess | undefined;
  let remote: Client | undefined;
  let url = '';
  const cleanUp = () => {
    daemon?.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', cleanUp);

  async function cli(args: readonly string[], key: string): Promise<string> {
    const env = { ...ENVIRONMENT, VAULT_API_KEY: key, VAULT_FILE: file };
    const { stdout } = await execute(process.execPath, [VAULT, ...args], { env, maxBuffer: 2 ** 26 });
    return stdout;
  }

  async function start(options: StartOptions = {}): Promise<number> {
    const { descriptors, flags = [], nodeFlags = [], bin = VAULT } = options;
    rmSync(readyFile, { force: true });
    const started = performance.now();
    const serve = ['serve', '--file', file, '--port', '0', '--ready-file', readyFile, ...flags];
    const args = [...nodeFlags, bin, ...serve];
    // Of both limits: Node raises the soft one to the hard one.
    const limited = ['-c', `ulimit -n ${descriptors}; exec "$0" "$@"`, process.execPath, ...args];
    const [command, words] = descriptors === undefined ? [process.execPath, args] : ['/bin/sh', limited];
    const child = spawn(command, words, { env: ENVIRONMENT, stdio: 'ignore' });
    daemon = child;
    while (!existsSync(readyFile)) {
      if (child.exitCode !== null || child.signalCode !== null) throw new Error('the daemon did not start');
      if (performance.now() - started > MAX_START_MS) throw new Error('the daemon was not ready in time');
      await sleep(3);
    }
    url = JSON.parse(readFileSync(readyFile, 'utf8')).url;
    remote = remoteClient({ url });
    clients.push(remote);
    return performance.now() - started;
  }

  async function kill(): Promise<void> {
    const child = daemon;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
    await remote?.close();
  }

  const made = JSON.parse(await cli(['init', '--file', file, '--key-file', `${file}.key`, '--output', 'json'], ''));
  const management: string = made.application.key;
  const credential = { kind: 'key_file', key: new Uint8Array(readFileSync(`${file}.key`)) } as const;
  const direct = directClient(await openVault({ file, credential }));
  clients.push(direct);
  const onFile = createCaller(() => direct);
  const permissions = ['token:create', 'token:read', 'token:update', 'token:delete'];
  const rule = { description: '', priority: 1, container: '/', transform: 'reveal', permissions };
  const body = { name: 'everything', type: 'private', rules: [rule], can_create_expiring_applications: true };
  const everything = String((await onFile(management, 'createApplication', { body })).body['key']);

  return {
    file,
    management,
    everything,
    start,
    url: () => url,
    running: () => daemon?.pid !== undefined && daemon.exitCode === null && daemon.signalCode === null,
    pid: () => {
      if (daemon?.pid === undefined) throw new Error('the daemon is not running');
      return daemon.pid;
    },
    kill,
    remote: createCaller(() => {
      if (!remote) throw new Error('the daemon is not running');
      return remote;
    }),
    direct: onFile,
    cli,
    close: async () => {
      await kill();
      for (const client of clients) await client.close();
      process.removeListener('exit', cleanUp);
      cleanUp();
    },
  };
}
