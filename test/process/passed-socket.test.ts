import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readlinkSync, renameSync } from 'node:fs';
import { request } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { cleanEnvironment } from '../scripts/run-script.ts';
import { endOf, makePlace, VAULT_BIN } from './cli-fixture.ts';

const OWN_FDS = '/proc/self/fd';
const place = makePlace();
beforeAll(() => place.init('v'));

/** Asks for `/readyz` at a port or a socket. Resolves to the status. */
async function ask(at: { readonly port?: number; readonly socketPath?: string }): Promise<number | undefined> {
  const [response] = await once(request({ ...at, path: '/readyz', host: '127.0.0.1' }).end(), 'response');
  response.resume();
  return response.statusCode;
}

/** Returns the file descriptors of the sockets of this process. Leaves out those that were closed meanwhile. */
function ownSockets(): readonly string[] {
  return readdirSync(OWN_FDS).filter((fd) => {
    try {
      return readlinkSync(`${OWN_FDS}/${fd}`).startsWith('socket:');
    } catch {
      return false;
    }
  });
}

/** Listens. Resolves to the address and to the file descriptor. */
async function listen(options: net.ListenOptions) {
  const before = ownSockets();
  const server = net.createServer().listen(options);
  await once(server, 'listening');
  const fd = Number(ownSockets().find((each) => !before.includes(each)));
  const address = server.address() as AddressInfo;
  /** Stops accepting connections here. Moves a Unix socket away meanwhile, because `close` removes it. */
  async function leave(): Promise<void> {
    if (options.path !== undefined) renameSync(options.path, `${options.path}.kept`);
    server.close();
    await once(server, 'close');
    if (options.path !== undefined) renameSync(`${options.path}.kept`, options.path);
  }
  return { fd, address, leave };
}

/** Starts a daemon as systemd does: with listening sockets from descriptor 3 on, and its own number in LISTEN_PID. */
async function serve(sockets: readonly (net.ListenOptions | undefined)[], words: readonly string[], fds?: string) {
  const servers = [];
  for (const options of sockets) servers.push(await listen(options ?? { port: 0, host: '127.0.0.1' }));
  const env = { LISTEN_FDS: fds ?? String(servers.length) };
  const child: ChildProcess = spawn(
    'sh',
    ['-c', 'LISTEN_PID=$$ exec "$@"', 'sh', process.execPath, VAULT_BIN, 'serve', '--file', 'v.db', ...words],
    { cwd: place.cwd, env: cleanEnvironment(env), stdio: ['ignore', 'ignore', 'pipe', ...servers.map(({ fd }) => fd)] },
  );
  await Promise.all(servers.map(({ leave }) => leave()));
  const ended = endOf(child, 30_000);
  onTestFinished(() => void child.kill('SIGKILL'));
  return { child, ended, addresses: servers.map(({ address }) => address) };
}

const untilListening = async ({ stderr }: ChildProcess) => {
  let text = '';
  for await (const piece of stderr ?? []) {
    text += piece;
    if (text.includes('listening on')) return text;
  }
  return text;
};

describe.runIf(process.platform === 'linux')('a systemd socket', () => {
  it('is a port', async () => {
    const { child, addresses } = await serve([undefined], []);
    const port = addresses[0]?.port ?? 0;
    expect(await untilListening(child)).toContain(`listening on http://127.0.0.1:${port}\n`);
    expect(await ask({ port })).toBe(200);
  });

  it.each(['s.sock', 'a  b.sock'])('is a Unix socket, %s', async (name) => {
    const path = place.inside(name);
    const { child } = await serve([{ path }], []);
    expect(await untilListening(child)).toContain(`listening on unix:${path}\n`);
    expect(await ask({ socketPath: path })).toBe(200);
  });

  it.each([
    ['an address of other machines', [{ port: 0, host: '0.0.0.0' }], [], '0.0.0.0 is not a loopback address'],
    ['two sockets', [undefined, undefined], [], 'systemd passed 2 sockets (LISTEN_FDS)'],
    ['no socket', [], [], 'cannot listen on the systemd socket (EINVAL)\nhint: write ListenStream='],
    ['a typed port', [undefined], ['--port', '0'], '--port has no effect on the socket that systemd passed'],
    [
      'predictable keys',
      [{ port: 0, host: '0.0.0.0' }],
      ['--dev', '--seed', '1', '--insecure-http'],
      '--seed makes predictable API keys, which a systemd socket could expose',
    ],
  ])('is refused: %s', async (_what, sockets, words, message) => {
    const { ended } = await serve(sockets, words, sockets.length === 0 ? '1' : undefined);
    expect(await ended).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(message) });
  });

  it('control: without a socket the daemon listens on its own', async () => {
    const { child } = await serve([undefined], ['--port', '0'], '0');
    expect(await untilListening(child)).toMatch(/listening on http:\/\/127\.0\.0\.1:\d+\n/);
  });
});
