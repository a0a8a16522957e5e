import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { directClient } from '../../src/client/direct.ts';
import { remoteClient } from '../../src/client/remote.ts';
import type { Client } from '../../src/contract/call.ts';
import { openFileVault } from '../../src/vault/vault.ts';
import { type DaemonProcess, ENVIRONMENT, startServe, VAULT_BIN } from './daemon-process.ts';
import { makeFolder } from './folder.ts';
import { createCaller, EVERYTHING, type Perform } from './perform.ts';

const execute = promisify(execFile);

export interface StartOptions {
  /** The limit on open descriptors (`ulimit -n`). */
  readonly descriptors?: number;
  /** Additional flags for `vault serve`. */
  readonly flags?: readonly string[];
  /** Flags for Node. */
  readonly nodeFlags?: readonly string[];
  /** Further variables. */
  readonly env?: Readonly<Record<string, string>>;
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
  const folder = makeFolder();
  const file = join(folder.path, 'vault.db');
  const clients: Client[] = [];
  let daemon: DaemonProcess | undefined;
  let remote: Client | undefined;

  async function cli(args: readonly string[], key: string): Promise<string> {
    const env = { ...ENVIRONMENT, VAULT_API_KEY: key, VAULT_FILE: file };
    const { stdout } = await execute(process.execPath, [...everyFlags, VAULT_BIN, ...args], {
      env,
      maxBuffer: 2 ** 26,
    });
    return stdout;
  }

  async function start({ descriptors, flags = [], nodeFlags = [], env = {}, bin }: StartOptions = {}): Promise<number> {
    const started = performance.now();
    // Sets the soft and the hard limit, because Node raises the soft limit to the hard limit.
    const limit = ['/bin/sh', '-c', `ulimit -n ${descriptors}; exec "$0" "$@"`];
    daemon = await startServe({
      readyFile: join(folder.path, 'ready.json'),
      words: ['--file', file, ...flags],
      nodeFlags: [...everyFlags, ...nodeFlags],
      env,
      bin,
      wrap: descriptors === undefined ? undefined : (line) => [...limit, ...line],
      output: 'ignored',
    });
    remote = remoteClient({ url: daemon.url });
    clients.push(remote);
    return performance.now() - started;
  }

  async function kill(): Promise<void> {
    await daemon?.stop('SIGKILL');
    await remote?.close();
  }

  function running(): DaemonProcess {
    if (daemon === undefined) throw new Error('the daemon is not running');
    return daemon;
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
    url: () => running().url,
    running: () => daemon !== undefined && daemon.child.exitCode === null && daemon.child.signalCode === null,
    pid: () => running().pid,
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
      folder[Symbol.dispose]();
    },
  };
}

/** Creates a vault and starts a daemon on it. */
export async function startServedVault(options?: StartOptions): Promise<ServedVault> {
  const vault = await serveVault();
  await vault.start(options);
  return vault;
}
