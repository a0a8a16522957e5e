import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client as PgClient } from 'pg';
import { remoteClient } from '../../../src/client/remote.ts';
import type { Client } from '../../../src/contract/call.ts';
import { parseStore } from '../../../src/vault/location.ts';
import { createStoreVault } from '../../../src/vault/store-vault.ts';
import { startPostgres } from '../../postgres/start-postgres.ts';
import { CheckFailure, type Figures } from '../check.ts';
import { type DaemonProcess, ENVIRONMENT, runVault, startServe, VAULT_BIN } from '../daemon-process.ts';
import { makeFolder } from '../folder.ts';
import { createCaller, EVERYTHING, type Perform } from '../perform.ts';

const execute = promisify(execFile);

export interface FleetOptions {
  readonly daemons: number;
  readonly settings?: Readonly<Record<string, string>>;
  readonly onLog?: (line: string) => void;
  readonly bin?: string | undefined;
  /** Returns the port that the daemons connect to; a proxy may listen there. Default: the server's. */
  readonly portOf?: (serverPort: number) => Promise<number>;
  /** The port of a second server, which the daemons use when the first is gone. */
  readonly secondPort?: number;
  /** Returns further flags of `serve` for a daemon. The folder is for files of the fleet. */
  readonly flags?: (daemon: number, folder: string) => readonly string[];
  /** The 5xx statuses that are valid replies. Default: 503. */
  readonly faults?: readonly number[];
}

export type Fleet = Awaited<ReturnType<typeof startFleet>>;

/** Starts PostgreSQL, a vault in it, and daemons with numbers from 0. All end with this process at the latest. */
export async function startFleet({
  daemons,
  settings = {},
  onLog,
  bin,
  portOf,
  secondPort,
  flags = () => [],
  faults,
}: FleetOptions) {
  const { path: folder, [Symbol.dispose]: removeFolder } = makeFolder();
  const server = await startPostgres({ settings: { max_connections: '100', ...settings }, ...(onLog && { onLog }) });
  const second = secondPort === undefined ? '' : `,127.0.0.1:${secondPort}`;
  const storeAt = (port: number) => `postgres://postgres@127.0.0.1:${port}${second}/postgres?sslmode=disable`;
  const store = storeAt(server.port);
  const served = storeAt((await portOf?.(server.port)) ?? server.port);
  const keyFile = join(folder, 'vault.key');
  const key = randomBytes(32);
  writeFileSync(keyFile, key, { mode: 0o600 });
  process.env['PGPASSWORD'] = 'unused';
  const { application } = await createStoreVault({
    store: parseStore(store, false),
    credential: { kind: 'key_file', key: new Uint8Array(key) },
    tenantName: 'fleet',
    weakPassphrase: false,
  });
  const management = application.key ?? '';
  const running: (DaemonProcess | undefined)[] = [];
  const children: ChildProcess[] = [];
  const clients: (Client | undefined)[] = [];
  const own = { PGPASSWORD: 'unused', VAULT_KEY_FILE: keyFile };
  const env = { ...ENVIRONMENT, ...own };
  const cleanUp = () => {
    for (const child of children) child.kill('SIGKILL');
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
    removeFolder();
  };

  /** Resolves to the status of a daemon's `/readyz`. Uses a new connection, since a daemon closes idle ones. */
  async function readiness(daemon: number): Promise<number> {
    const reply = await fetch(`${running[daemon]?.url}/readyz`, { headers: { connection: 'close' } }).catch((cause) => {
      throw new Error(`daemon ${daemon} does not listen: ${running[daemon]?.told().slice(-2000)}`, { cause });
    });
    await reply.text();
    return reply.status;
  }

  return {
    server,
    /** Connects to the server itself, as the owner of the tables. */
    sqlClient: async () => {
      const client = new PgClient({ connectionString: store.replace(/\?.*/, '') });
      await client.connect();
      return client;
    },
    keyFile,
    management,
    everything: String(made.body['key']),
    daemons: [...callers.keys()],
    at,
    readiness,
    /** Resolves to the milliseconds until all daemons answer `/readyz` with this status. Rejects after `most`. */
    async untilReadiness(status: number, most: number, figures: Figures = {}): Promise<number> {
      const started = performance.now();
      const wait = async (daemon: number) => {
        while ((await readiness(daemon)) !== status) {
          if (performance.now() - started > most) throw new CheckFailure(`no ${status} within ${most} ms`, figures);
          await sleep(20);
        }
      };
      await Promise.all([...callers.keys()].map(wait));
      return Math.round(performance.now() - started);
    },
    /** Returns what a daemon has written to its standard error. */
    errorsOf: (daemon: number) => running[daemon]?.told() ?? '',
    start,
    signal: (daemon: number, signal: 'SIGSTOP' | 'SIGCONT') => void running[daemon]?.child.kill(signal),
    kill: async (daemon: number) => void (await running[daemon]?.stop('SIGKILL')),
    spawn(...args: readonly string[]): ChildProcess {
      const options = { env: { ...env, VAULT_STORE: store }, stdio: 'ignore' } as const;
      const child = spawn(process.execPath, [VAULT_BIN, ...args], options);
      children.push(child);
      return child;
    },
    /** Runs a command on the store. Resolves to its exit code, or to -1 when it does not end soon. */
    exitOf: async (...args: readonly string[]): Promise<number> =>
      (await runVault(args, { ...own, VAULT_STORE: store })).code ?? -1,
    /** Runs a command on the store. Resolves to its standard output, also when it exits with 9. */
    async cli(...args: readonly string[]): Promise<string> {
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
