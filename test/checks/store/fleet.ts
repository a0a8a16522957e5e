import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { remoteClient } from '../../../src/client/remote.ts';
import type { Client } from '../../../src/contract/call.ts';
import { parseStore } from '../../../src/vault/location.ts';
import { createStoreVault } from '../../../src/vault/store-vault.ts';
import { startPostgres, type TestServer } from '../../postgres/start-postgres.ts';
import { type DaemonProcess, ENVIRONMENT, startServe, VAULT_BIN } from '../daemon-process.ts';
import { createCaller, EVERYTHING, type Perform } from '../perform.ts';

const execute = promisify(execFile);
const MAX_EXIT_MS = 10_000;

export interface FleetOptions {
  readonly daemons: number;
  /** Further settings of PostgreSQL. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Receives the lines of the server's log. */
  readonly onLog?: (line: string) => void;
  /** The path of another product build. Default: the build of this checkout. */
  readonly bin?: string;
  /** Returns the port that the daemons connect to; a proxy may listen there. Default: the server's. */
  readonly portOf?: (serverPort: number) => Promise<number>;
  /** The port of a second server, which the daemons use when the first is gone. */
  readonly secondPort?: number;
  /** Returns further flags of `serve` for a daemon. The folder is for files of the fleet. */
  readonly flags?: (daemon: number, folder: string) => readonly string[];
  /** The 5xx statuses that are valid replies. Default: 503. */
  readonly faults?: readonly number[];
}

/** Several daemons on one PostgreSQL server of their own. All end with this process at the latest. */
export interface Fleet extends AsyncDisposable {
  readonly server: TestServer;
  /** The URL of the store at the server itself. */
  readonly store: string;
  readonly keyFile: string;
  readonly management: string;
  /** The key of a private application with all token permissions and `reveal` on everything. */
  readonly everything: string;
  /** The numbers of the daemons. */
  readonly daemons: readonly number[];
  /** Calls a daemon by its number, from 0. */
  readonly at: (daemon: number) => Perform;
  urlOf(daemon: number): string;
  /** Resolves to the status of a daemon's `/readyz`. Uses a new connection, since a daemon closes idle ones. */
  readiness(daemon: number): Promise<number>;
  /** Returns what a daemon has written to its standard error. */
  errorsOf(daemon: number): string;
  start(daemon: number): Promise<void>;
  /** Sends a signal to a daemon. */
  signal(daemon: number, signal: 'SIGSTOP' | 'SIGCONT'): void;
  /** Kills a daemon with SIGKILL, and waits until it is gone. */
  kill(daemon: number): Promise<void>;
  /** Starts a command on the store. */
  spawn(...args: readonly string[]): ChildProcess;
  /** Runs a command on the store. Resolves to its exit code, or to -1 when it does not end soon. */
  exitOf(...args: readonly string[]): Promise<number>;
  /** Runs a command on the store. Resolves to its standard output, also when it exits with 9. */
  cli(...args: readonly string[]): Promise<string>;
  close(): Promise<void>;
}

/** Starts the server, creates a vault, and starts the daemons. */
export async function startFleet({
  daemons,
  settings = {},
  onLog,
  bin,
  portOf,
  secondPort,
  flags = () => [],
  faults,
}: FleetOptions): Promise<Fleet> {
  const folder = mkdtempSync(join(tmpdir(), 'vault-fleet-'));
  const server = await startPostgres({ settings: { max_connections: '100', ...settings }, ...(onLog && { onLog }) });
  const second = secondPort === undefined ? '' : `,127.0.0.1:${secondPort}`;
  const storeAt = (port: number) => `postgres://postgres@127.0.0.1:${port}${second}/postgres?sslmode=disable`;
  const store = storeAt(server.port);
  const served = storeAt((await portOf?.(server.port)) ?? server.port);
  const keyFile = join(folder, 'vault.key');
  const key = randomBytes(32);
  writeFileSync(keyFile, key, { mode: 0o600 });
  // The server requires no password, but the client does.
  process.env['PGPASSWORD'] = 'unused';
  const { application } = await createStoreVault({
    store: parseStore(store, false),
    credential: { kind: 'key_file', key: new Uint8Array(key) },
    tenantName: 'fleet',
    weakPassphrase: false,
  });
  const management = application.key ?? '';
  /** The running daemons, and further commands. */
  const running: (DaemonProcess | undefined)[] = [];
  const children: ChildProcess[] = [];
  const clients: (Client | undefined)[] = [];
  const own = { PGPASSWORD: 'unused', VAULT_KEY_FILE: keyFile };
  const env = { ...ENVIRONMENT, ...own };
  const cleanUp = () => {
    for (const child of children) child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', cleanUp);

  async function start(daemon: number): Promise<void> {
    const started = await startServe({
      readyFile: join(folder, `ready-${daemon}.json`),
      words: ['--store', served, '--no-log', ...flags(daemon, folder)],
      env: own,
      bin,
    });
    running[daemon] = started;
    await clients[daemon]?.close();
    clients[daemon] = remoteClient({ url: started.url });
  }

  const callers = Array.from({ length: daemons }, (_, daemon) =>
    createCaller(() => {
      const client = clients[daemon];
      if (client === undefined) throw new Error('the daemon is not running');
      return client;
    }, faults),
  );
  const at = (daemon: number): Perform =>
    callers[daemon] ?? createCaller(() => Promise.reject(new Error('no daemon')) as never);

  await Promise.all(callers.map((_, daemon) => start(daemon)));
  const made = await at(0)(management, 'createApplication', { body: EVERYTHING });

  const close = async () => {
    for (const daemon of running) await daemon?.stop('SIGKILL');
    for (const client of clients) await client?.close();
    await server.stop();
    process.removeListener('exit', cleanUp);
    cleanUp();
  };

  return {
    server,
    store,
    keyFile,
    management,
    everything: String(made.body['key']),
    daemons: [...callers.keys()],
    at,
    urlOf: (daemon) => running[daemon]?.url ?? '',
    readiness: async (daemon) => {
      const reply = await fetch(`${running[daemon]?.url}/readyz`, { headers: { connection: 'close' } }).catch(
        (cause) => {
          throw new Error(`daemon ${daemon} does not listen: ${running[daemon]?.told().slice(-2000)}`, { cause });
        },
      );
      await reply.text();
      return reply.status;
    },
    errorsOf: (daemon) => running[daemon]?.told() ?? '',
    start,
    signal: (daemon, signal) => void running[daemon]?.child.kill(signal),
    kill: async (daemon) => void (await running[daemon]?.stop('SIGKILL')),
    spawn(...args) {
      const options = { env: { ...env, VAULT_STORE: store }, stdio: 'ignore' } as const;
      const child = spawn(process.execPath, [VAULT_BIN, ...args], options);
      children.push(child);
      return child;
    },
    async exitOf(...args) {
      const options = { env: { ...env, VAULT_STORE: store }, timeout: MAX_EXIT_MS };
      return execute(process.execPath, [VAULT_BIN, ...args], options).then(
        () => 0,
        ({ code }: { readonly code: unknown }) => (typeof code === 'number' ? code : -1),
      );
    },
    async cli(...args) {
      const options = { env: { ...env, VAULT_STORE: store }, maxBuffer: 2 ** 26 };
      const { stdout } = await execute(process.execPath, [VAULT_BIN, ...args], options).catch(
        (error: { readonly stdout?: string; readonly stderr?: string }) => {
          if (error.stdout) return { stdout: error.stdout };
          throw new Error(`${args.join(' ')}: ${error.stderr}`);
        },
      );
      return stdout;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
