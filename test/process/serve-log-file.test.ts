import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { makePlace, VAULT_BIN } from './cli-fixture.ts';

/** Windows has no SIGUSR2. */
const posix = process.platform !== 'win32';
const REOPENED = 'vault: the log file was reopened';
const STOPPING = 'vault: stopping after SIGTERM';

const place = makePlace();
let management = '';
beforeAll(async () => {
  management = await place.init('v');
});

async function serve(log = 'log') {
  rmSync(place.inside('log'), { recursive: true, force: true });
  const served = await place.serve(['--file', 'v.db', '--log-file', log]);
  const lines = () => served.told().split('\n').slice(1, -1);
  return {
    ...served,
    lines,
    pid: Number(served.ready['pid']),
    /** Sends requests on connections of their own. */
    async ask(count: number): Promise<void> {
      for (let i = 0; i < count; i += 1) {
        await fetch(`${served.url}/livez`, { headers: { connection: 'close' } });
      }
    },
    /** Sends a request that needs the file. Resolves to its status. */
    async error(): Promise<number> {
      const headers = { connection: 'close', 'svc-api-key': management, 'svc-trace-id': 'here' };
      return (await fetch(`${served.url}/tokens`, { headers })).status;
    },
    /** Sends SIGUSR2, and waits for the line that it causes. */
    async reopen(): Promise<readonly string[]> {
      const before = lines().length;
      process.kill(Number(served.ready['pid']), 'SIGUSR2');
      await vi.waitFor(() => expect(lines().length).toBeGreaterThan(before), 5_000);
      return lines().slice(before);
    },
  };
}

/** Resolves to one end of a connection, and to the text that the other end receives. */
async function connectedSocket(): Promise<{ readonly end: Socket; readonly received: Promise<string> }> {
  const path = place.inside('stderr.sock');
  const server = createServer({ pauseOnConnect: true }).listen(path);
  await once(server, 'listening');
  const reader = connect(path);
  const [end] = (await once(server, 'connection')) as [Socket];
  server.close();
  return { end, received: text(reader) };
}

const entries = (name: string) => readFileSync(place.inside(name), 'utf8').split('\n').slice(0, -1);

describe.runIf(posix)('--log-file', () => {
  it('continues in a new file after a rename and SIGUSR2', async () => {
    const { ask, reopen, stop, lines } = await serve();
    expect(statSync(place.inside('log')).mode & 0o777).toBe(0o600);
    await ask(4);
    renameSync(place.inside('log'), place.inside('log.1'));
    await ask(4);
    await vi.waitFor(() => expect(entries('log.1')).toHaveLength(8), 5_000);
    expect(await reopen()).toEqual([REOPENED]);
    await ask(2);
    await vi.waitFor(() => expect(entries('log')).toHaveLength(2), 5_000);
    expect(await stop()).toBe(0);
    for (const line of [...entries('log.1'), ...entries('log')]) {
      expect(JSON.parse(line)).toMatchObject({ route: '/livez', status: 200 });
    }
    expect(lines()).toEqual([REOPENED, STOPPING]);
  });

  it('has the errors that callers do not see, too', async () => {
    const { ask, error, stop, lines } = await serve();
    await ask(1);
    renameSync(place.inside('v.db'), place.inside('moved.db'));
    try {
      // A daemon checks the path of its file only now and then.
      await vi.waitFor(async () => expect(await error()).toBe(503), 5_000);
    } finally {
      renameSync(place.inside('moved.db'), place.inside('v.db'));
    }
    const expected = { time: expect.any(String), level: 'error', trace_id: 'here', error: 'vault_moved' };
    await vi.waitFor(() => {
      const errors = entries('log')
        .map((line) => JSON.parse(line))
        .filter(({ error }) => error !== undefined);
      expect(errors).toMatchObject([expected]);
    }, 5_000);
    expect(await stop()).toBe(0);
    expect(lines()).toEqual([STOPPING]);
  });

  it('keeps the old file if the new one cannot be opened, and says so in one line', async () => {
    const { ask, reopen, stop } = await serve();
    renameSync(place.inside('log'), place.inside('log.1'));
    mkdirSync(place.inside('log'));
    expect(await reopen()).toEqual([
      'vault: the log file was not reopened; the old one stays in use: --log-file: log cannot be opened (EISDIR)',
    ]);
    await ask(2);
    await stop();
    expect(entries('log.1')).toHaveLength(2);
  });

  it('does not wait for the reader of a named pipe', async () => {
    const { ask, reopen, stop } = await serve();
    renameSync(place.inside('log'), place.inside('log.1'));
    execFileSync('mkfifo', [place.inside('log')]);
    expect((await reopen()).join()).toMatch(/the old one stays in use: --log-file: log cannot be opened \(ENXIO\)$/);
    await ask(2);
    expect(await stop()).toBe(0);
    expect(entries('log.1')).toHaveLength(2);
  });

  it('continues in a new file after SIGHUP, too', async () => {
    const { ask, stop, lines, pid } = await serve();
    await ask(1);
    renameSync(place.inside('log'), place.inside('log.1'));
    process.kill(pid, 'SIGHUP');
    await vi.waitFor(() => expect(lines()).toEqual([REOPENED]), 5_000);
    await ask(2);
    expect(await stop()).toBe(0);
    expect([entries('log.1'), entries('log')]).toMatchObject([{ length: 1 }, { length: 2 }]);
  });

  it.runIf(process.platform === 'linux')('/dev/stderr on a socket: the hint says what to leave out', async () => {
    const socket = await connectedSocket();
    const words = ['serve', '--file', 'v.db', '--port', '0', '--log-file', '/dev/stderr'];
    const child = spawn(process.execPath, [VAULT_BIN, ...words], {
      cwd: place.cwd,
      stdio: ['ignore', 'ignore', socket.end],
    });
    const ended = once(child, 'exit');
    socket.end.destroy();
    expect(await ended).toEqual([2, null]);
    expect(await socket.received).toBe(
      'vault: --log-file: /dev/stderr cannot be opened (ENXIO)\nhint: leave out --log-file: without it, the log goes to standard error\n',
    );
  });

  it.runIf(process.platform === 'linux')('reports lost lines once, and continues', async () => {
    const { ask, lines, stop } = await serve('/dev/full');
    await ask(3);
    expect(await stop()).toBe(0);
    expect(lines()).toEqual(['vault: --log-file: /dev/full cannot be written (ENOSPC); lines are lost', STOPPING]);
  });
});
