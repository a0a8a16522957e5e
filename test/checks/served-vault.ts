import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { directClient } from '../../src/client/direct.ts';
import { remoteClient } from '../../src/client/remote.ts';
import type { Client } from '../../src/contract/call.ts';
import { openFileVault } from '../../src/vault/vault.ts';
import { CheckFailure, type Figures } from './check.ts';
import { type DaemonProcess, ENVIRONMENT, startServe, VAULT_BIN } from './daemon-process.ts';
import { makeFolder } from './folder.ts';
import { createCaller } from './perform.ts';
import { makeVaultFile } from './vault-file.ts';

const execute = promisify(execFile);

interface StartOptions {
  readonly descriptors?: number;
  readonly flags?: readonly string[];
  readonly nodeFlags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly bin?: string;
}

export type ServedVault = Awaited<ReturnType<typeof serveVault>>;

/** Creates a vault file for the built product. `everyFlags` are flags for Node in each process of it. */
export async function serveVault(everyFlags: readonly string[] = []) {
  const folder = makeFolder();
  const { file, credential, management, everything } = await makeVaultFile(folder.path);
  const clients: Client[] = [];
  let daemon: DaemonProcess | undefined;
  let remote: Client | undefined;

  /** Runs a command on the file. Resolves to its standard output. Rejects unless it exits with 0. */
  async function cli(args: readonly string[], key: string): Promise<string> {
    const env = { ...ENVIRONMENT, VAULT_API_KEY: key, VAULT_FILE: file };
    const { stdout } = await execute(process.execPath, [...everyFlags, VAULT_BIN, ...args], {
      env,
      maxBuffer: 2 ** 26,
    });
    return stdout;
  }

  /** Starts the daemon. Resolves to the milliseconds until it accepts requests. */
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

  const direct = directClient(await openFileVault({ file, credential }));
  clients.push(direct);

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
    direct: createCaller(() => direct),
    cli,
    /** Rejects with a `CheckFailure` unless doctor finds nothing. */
    async requireSound(figures: Figures): Promise<void> {
      const found = await cli(['doctor'], '').catch((error: { readonly stdout?: string }) => String(error.stdout));
      if (!found.startsWith('{"ok":true')) throw new CheckFailure(`doctor: ${found.slice(0, 300)}`, figures);
    },
    async [Symbol.asyncDispose]() {
      await kill();
      for (const client of clients) await client.close();
      folder[Symbol.dispose]();
    },
  };
}

export async function startServedVault(options?: StartOptions) {
  const vault = await serveVault();
  await vault.start(options);
  return vault;
}
