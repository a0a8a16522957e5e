import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { directClient } from '../../src/client/direct.ts';
import { remoteClient } from '../../src/client/remote.ts';
import type { Client } from '../../src/contract/call.ts';
import { openFileVault } from '../../src/vault/vault.ts';
import { ENVIRONMENT, untilReady, VAULT_BIN } from './daemon-process.ts';
import { createCaller, EVERYTHING, type Perform } from './perform.ts';

const execute = promisify(execFile);

export interface StartOptions {
  /** The limit on open descriptors (`ulimit -n`). */
  readonly descriptors?: number;
  /** Additional flags for `vault serve`. */
  readonly flags?: readonly string[];
  /** Flags for Node. */
  readonly nodeFlags?: readonly string[];
  /** The path of another product build. Default: the build of this checkout. */
  readonly bin?: string;
}

/** A vault file in its own folder, and the built product on it. The processes end with this one at the latest. */
export interface ServedVault extends AsyncDisposable {
  readonly file: string;
  readonly management: string;
  /** The key of a private application with all token permissions and `reveal` on everything. */
  readonly everything: string;
  /** Starts the daemon. Resolves to the milliseconds until it accepts requests. */
  start(options?: StartOptions): Promise<number>;
  /** Returns the URL of the running daemon. */
  url(): string;
  readonly running: () => boolean;
  /** Returns the process id of the running daemon. */
  pid(): number;
  /** Sends SIGKILL and waits until the daemon is gone. */
  kill(): Promise<void>;
  /** Calls the running daemon over HTTP. */
  readonly remote: Perform;
  /** Calls the vault on the file, opened in this process. */
  readonly direct: Perform;
  /** Runs a command on the file. Resolves to its standard output. Rejects unless it exits with 0. */
  cli(args: readonly string[], key: string): Promise<string>;
}

/** Creates the vault. `everyFlags` are flags for Node in each process of the product. */
export async function serveVault(everyFlags: readonly string[] = []): Promise<ServedVault> {
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
    const { stdout } = await execute(process.execPath, [...everyFlags, VAULT_BIN, ...args], {
      env,
      maxBuffer: 2 ** 26,
    });
    return stdout;
  }

  async function start(options: StartOptions = {}): Promise<number> {
    const { descriptors, flags = [], nodeFlags = [], bin = VAULT_BIN } = options;
    rmSync(readyFile, { force: true });
    const started = performance.now();
    const serve = ['serve', '--file', file, '--port', '0', '--ready-file', readyFile, ...flags];
    const args = [...everyFlags, ...nodeFlags, bin, ...serve];
    // Sets the soft and the hard limit, because Node raises the soft limit to the hard limit.
    const limited = ['-c', `ulimit -n ${descriptors}; exec "$0" "$@"`, process.execPath, ...args];
    const [command, words] = descriptors === undefined ? [process.execPath, args] : ['/bin/sh', limited];
    const child = spawn(command, words, { env: ENVIRONMENT, stdio: 'ignore' });
    daemon = child;
    ({ url } = await untilReady(child, readyFile));
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
  const direct = directClient(await openFileVault({ file, credential }));
  clients.push(direct);
  const onFile = createCaller(() => direct);
  const body = { ...EVERYTHING, can_create_expiring_applications: true };
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
    [Symbol.asyncDispose]: async () => {
      await kill();
      for (const client of clients) await client.close();
      process.removeListener('exit', cleanUp);
      cleanUp();
    },
  };
}

/** Creates a vault and starts a daemon on it. */
export async function startServedVault(options?: StartOptions): Promise<ServedVault> {
  const vault = await serveVault();
  await vault.start(options);
  return vault;
}
