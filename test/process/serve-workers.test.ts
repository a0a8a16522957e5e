import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { type AddressInfo, connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { cleanEnvironment } from '../scripts/run-script.ts';
import { type Ended, endOf, makePlace, VAULT_BIN } from './cli-fixture.ts';
import { CERT, CERT_KEY } from './http-certificate.ts';

/** Windows has no signals. A daemon there ends with its console. */
const posix = process.platform !== 'win32';

const place = makePlace();
let managementKey = '';
let writerKey = '';
let writerId = '';
beforeAll(async () => {
  managementKey = await place.init('v');
  const rule = 'container=/ transform=reveal permissions=token:create,token:read';
  const words = ['apps', 'create', '--name', 'w', '--type', 'private', '--rule', rule];
  const made = await place.vault(words, { VAULT_API_KEY: managementKey, VAULT_FILE: 'v.db' });
  ({ id: writerId, key: writerKey } = JSON.parse(made.stdout));
  writeFileSync(place.inside('other.key'), Buffer.alloc(32, 7), { mode: 0o600 });
});

interface Served {
  readonly child: ChildProcess;
  readonly url: string;
  readonly port: number;
  readonly pids: readonly number[];
  readonly ended: Promise<Ended>;
}

const started: ChildProcess[] = [];
afterEach(() => {
  // Workers end when their supervisor is gone.
  for (const child of started.splice(0)) if (child.exitCode === null) child.kill('SIGKILL');
});

let count = 0;
async function serve(more: readonly string[] = [], env: Readonly<Record<string, string>> = {}): Promise<Served> {
  count += 1;
  const ready = place.inside(`ready-${count}.json`);
  const words = ['serve', '--file', 'v.db', '--port', '0', '--workers', '2', '--ready-file', ready, ...more];
  const child = spawn(process.execPath, [VAULT_BIN, ...words], {
    cwd: place.cwd,
    env: cleanEnvironment(env),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  started.push(child);
  const ended = endOf(child, 60_000);
  while (!existsSync(ready)) {
    if (child.exitCode !== null) throw new Error((await ended).stderr);
    await sleep(20);
  }
  if (posix) expect(statSync(ready).mode & 0o777).toBe(0o600);
  const { url, pid } = JSON.parse(readFileSync(ready, 'utf8'));
  expect(pid).toBe(child.pid);
  return { child, url, port: Number(new URL(url).port), pids: posix ? workersOf(Number(child.pid)) : [], ended };
}

function workersOf(supervisor: number): readonly number[] {
  const rows = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n');
  const all = rows.map((row) => /^ *(\d+) +(\d+) (.*)/.exec(row) ?? []);
  return all
    .filter(([, , parent, args]) => Number(parent) === supervisor && args?.includes('serve'))
    .map(([, pid]) => Number(pid));
}

/** Returns whether a process is alive. It need not be a child of this process. A zombie is not alive. */
function isAlive(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' });
  return /^[^Z]/.test(stdout.trim());
}

/** Waits until all processes are gone. */
async function gone(pids: readonly number[]): Promise<void> {
  while (pids.some(isAlive)) await sleep(20);
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

/** Sends a request on a new connection, which the next worker gets. Rejects when there is no answer. */
function ask(port: number, line: string, key = writerKey, body = ''): Promise<Answer> {
  const type = body === '' ? '' : `content-type: application/json\r\ncontent-length: ${body.length}\r\n`;
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk) => {
      text += String(chunk);
    });
    socket.on('error', reject).on('close', () => {
      const status = /^HTTP\/1\.1 (\d+) /.exec(text)?.[1];
      if (status === undefined) reject(new Error('no answer'));
      else resolve({ status: Number(status), body: text.slice(text.indexOf('\r\n\r\n') + 4) });
    });
    socket.write(
      `${line} HTTP/1.1\r\nhost: localhost:${port}\r\nsvc-api-key: ${key}\r\nconnection: close\r\n${type}\r\n${body}`,
    );
  });
}

/**
 * Starts a request that stays in flight until `finish` sends the rest of its body. `answer` is the start of the reply.
 */
async function startRequest(port: number) {
  const body = '{"type":"token","data":"x"}';
  const head = ['POST /tokens HTTP/1.1', `host: localhost:${port}`, `svc-api-key: ${writerKey}`];
  const lines = [...head, 'content-type: application/json', `content-length: ${body.length}`, 'expect: 100-continue'];
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  expect(String(await once(socket, 'data'))).toMatch(/^HTTP\/1\.1 100 /);
  const answer = new Promise<string>((resolve) => {
    socket.once('data', (chunk) => resolve(String(chunk).slice(0, 12))).once('close', () => resolve('cut'));
  });
  socket.write(body.slice(0, 5));
  return { answer, finish: () => socket.write(body.slice(5)) };
}

const post = (port: number, id: string) =>
  ask(port, 'POST /tokens', writerKey, `{"type":"token","id":"${id}","data":"x"}`);

/** Creates tokens, eight at a time, until `stop` or until a create fails. */
function startLoad(port: number, name: string, expected: readonly number[] = [201, 503]) {
  const acknowledged: string[] = [];
  let isOver = false;
  const writers = Array.from({ length: 8 }, async (_, writer) => {
    for (let i = 0; !isOver; i += 1) {
      const id = `${name}-${writer}-${i}`;
      const answer = await post(port, id).catch(() => undefined);
      if (answer === undefined) return;
      expect(expected).toContain(answer.status);
      if (answer.status !== 201) return;
      acknowledged.push(id);
    }
  });
  const stop = async () => {
    isOver = true;
    await Promise.all(writers);
  };
  return { acknowledged, stop };
}

async function kept(): Promise<readonly string[]> {
  return (await place.vault('tokens list --all -q', { VAULT_API_KEY: writerKey, VAULT_FILE: 'v.db' })).stdout.split(
    '\n',
  );
}

describe.runIf(posix)('vault serve --workers 2', () => {
  it('serves one port with two processes, both of which answer, and stops cleanly', async () => {
    const { child, url, port, pids, ended } = await serve();
    expect(pids).toHaveLength(2);
    expect(new Set([child.pid, ...pids]).size).toBe(3);
    for (const standing of pids) {
      process.kill(standing, 'SIGSTOP');
      // One of four connections goes to the stopped worker. The other worker answers the rest.
      const answered: number[] = [];
      const all = Array.from({ length: 4 }, () => ask(port, 'GET /livez').then(({ status }) => answered.push(status)));
      while (answered.length < 3) await sleep(20);
      await sleep(200);
      expect(answered).toEqual([200, 200, 200]);
      process.kill(standing, 'SIGCONT');
      await Promise.all(all);
      expect(answered).toEqual([200, 200, 200, 200]);
    }
    child.kill('SIGTERM');
    const { exitCode, stderr } = await ended;
    expect(exitCode).toBe(0);
    expect(stderr.match(/^vault: .*/gm)).toEqual([`vault: listening on ${url}`, 'vault: stopping after SIGTERM']);
    expect(existsSync(place.inside(`ready-${count}.json`))).toBe(false);
    expect(pids.some(isAlive)).toBe(false);
  });

  it('a regenerated key fails from the next request on, on every connection', async () => {
    const { child, port, ended } = await serve(['--no-log']);
    let key = writerKey;
    for (let i = 0; i < 20; i += 1) {
      expect((await ask(port, 'GET /tokens', key)).status).toBe(200);
      const { body } = await ask(port, `POST /applications/${writerId}/regenerate`, managementKey);
      const next: string = JSON.parse(body).key;
      // The next two connections go to different workers.
      const statuses = [await ask(port, 'GET /tokens', key), await ask(port, 'GET /tokens', next)];
      expect(statuses.map(({ status }) => status)).toEqual([401, 200]);
      if (i % 2 === 0) await ask(port, 'GET /livez');
      key = next;
    }
    writerKey = key;
    child.kill('SIGTERM');
    expect(await ended).toMatchObject({ exitCode: 0 });
  });

  it('a token that one worker creates is visible to both at once, and survives a kill', async () => {
    const { port, pids, child } = await serve(['--no-log']);
    // Each round makes an odd number of connections, so the creates alternate between the workers.
    for (let i = 0; i < 10; i += 1) {
      expect((await post(port, `seen-${i}`)).status).toBe(201);
      const statuses = [await ask(port, `GET /tokens/seen-${i}`), await ask(port, `GET /tokens/seen-${i}`)];
      expect(statuses.map(({ status }) => status)).toEqual([200, 200]);
    }
    const together = await Promise.all(Array.from({ length: 20 }, (_, at) => post(port, `together-${at}`)));
    for (const pid of [Number(child.pid), ...pids]) process.kill(pid, 'SIGKILL');
    await gone(pids);
    expect(together.map(({ status }) => status)).toEqual(Array(20).fill(201));
    const ids = await kept();
    for (let i = 0; i < 20; i += 1) expect(ids).toContain(`together-${i}`);
    const verified = await place.vault('audit verify', { VAULT_FILE: 'v.db' });
    expect(verified.exitCode).toBe(0);
  });

  it.each([[[0, 1]], [[1, 0]]])(
    'a signal under load loses no acknowledged write, even when workers get it too; they end in the order %j',
    async (order) => {
      const { child, port, pids, ended } = await serve(['--no-log']);
      // The first connection goes to the first worker, the next one to the second.
      const busy = [await startRequest(port), await startRequest(port)];
      const load = startLoad(port, `load-${order}`);
      while (load.acknowledged.length < 40) await sleep(10);
      // Ctrl-C on a terminal signals every process.
      for (const pid of [...pids, Number(child.pid)]) process.kill(pid, 'SIGINT');
      await sleep(100);
      for (const at of order) {
        busy[at]?.finish();
        expect(await busy[at]?.answer).toBe('HTTP/1.1 201');
        // Long enough for an idle worker to end.
        await sleep(300);
        // The first worker also writes for the second one, so it ends last.
        if (at === order[0]) expect(isAlive(Math.min(...pids))).toBe(true);
      }
      const { exitCode, stderr } = await ended;
      await load.stop();
      expect([exitCode, stderr.match(/^vault: .*/gm)?.length]).toEqual([0, 2]);
      const ids = await kept();
      expect(load.acknowledged.filter((id) => !ids.includes(id))).toEqual([]);
    },
  );

  it.each([0, 1])('worker %i killed under load: no acknowledged write is lost', async (at) => {
    const { port, pids, ended } = await serve(['--no-log']);
    const load = startLoad(port, `killed-${at}`, [201, 500, 503]);
    while (load.acknowledged.length < 40) await sleep(10);
    process.kill(Number(pids[at]), 'SIGKILL');
    expect((await ended).exitCode).toBe(1);
    await load.stop();
    const ids = await kept();
    expect(load.acknowledged.filter((id) => !ids.includes(id))).toEqual([]);
  });

  it('serves TLS with both workers, and stops cleanly', async () => {
    writeFileSync(place.inside('tls.pem'), CERT);
    writeFileSync(place.inside('tls.key'), CERT_KEY, { mode: 0o600 });
    const { child, port, url, ended } = await serve(['--no-log', '--tls-cert', 'tls.pem', '--tls-key', 'tls.key']);
    expect(url).toBe(`https://127.0.0.1:${port}`);
    for (let i = 0; i < 4; i += 1) {
      const status = await new Promise((resolve, reject) => {
        const options = { host: '127.0.0.1', port, path: '/livez', ca: CERT, agent: false };
        get(options, (response) => resolve(response.resume().statusCode)).on('error', reject);
      });
      expect(status).toBe(200);
    }
    child.kill('SIGTERM');
    expect(await ended).toMatchObject({ exitCode: 0 });
    expect(existsSync(place.inside(`ready-${count}.json`))).toBe(false);
  });

  it('a killed worker stops the others: exit 1, reported once', async () => {
    const { port, pids, ended } = await serve(['--no-log']);
    const [first = -1, second = -1] = pids;
    process.kill(first, 'SIGKILL');
    const { exitCode, stderr } = await ended;
    expect([exitCode, stderr.split('\n').slice(1)]).toEqual([
      1,
      [`vault: worker ${first} ended (SIGKILL): stopping the others`, ''],
    ]);
    expect(isAlive(second)).toBe(false);
    await expect(ask(port, 'GET /livez')).rejects.toThrow();
  });

  it('a bug in a worker: it finishes its requests, the others stop, exit 70', async () => {
    const bug =
      "process.on('SIGUSR2', () => setImmediate(() => { throw Object.assign(new Error('x'), { code: 'E_BUG' }); }));";
    writeFileSync(place.inside('bug.cjs'), bug);
    const options = `--require ${JSON.stringify(place.inside('bug.cjs'))}`;
    const { pids, ended } = await serve(['--no-log'], { NODE_OPTIONS: options });
    process.kill(Number(pids[1]), 'SIGUSR2');
    const { exitCode, stderr } = await ended;
    expect([exitCode, stderr.split('\n').slice(1)]).toEqual([
      70,
      [
        'vault: stopping after an uncaught error (E_BUG)',
        `vault: worker ${pids[1]} ended (exit code 70): stopping the others`,
        '',
      ],
    ]);
  });

  it('a killed supervisor: the workers finish their requests and end', async () => {
    const { child, port, pids } = await serve(['--no-log']);
    const busy = await startRequest(port);
    child.kill('SIGKILL');
    while (pids.filter(isAlive).length > 1) await sleep(20);
    busy.finish();
    expect(await busy.answer).toBe('HTTP/1.1 201');
    await gone(pids);
  });

  it('a second signal ends all at once', async () => {
    const { child, port, pids, ended } = await serve(['--no-log']);
    const busy = await startRequest(port);
    child.kill('SIGTERM');
    await sleep(200);
    expect(child.exitCode).toBe(null);
    const begin = performance.now();
    child.kill('SIGTERM');
    expect((await ended).exitCode).toBe(143);
    await gone(pids);
    // After one signal, the workers would wait for the request.
    expect(performance.now() - begin).toBeLessThan(6_000);
    expect(await busy.answer).toBe('cut');
  });
});

describe('vault serve --workers', () => {
  const serveWith = (words: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    place.process(['serve', '--port', '0', ...words], { VAULT_FILE: 'v.db', VAULT_WORKERS: '3', ...env });

  it('a failed start is reported once, with the exit code of a single process', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const cases = [
      [['--key-file', 'other.key'], 10],
      [['--file', 'none.db'], 2],
      [['--port', String(port)], 8],
    ] as const;
    for (const [more, exitCode] of cases) {
      const [alone, several] = [await serveWith([...more, '--workers', '1']), await serveWith(more)];
      expect(several).toEqual(alone);
      expect(several.exitCode).toBe(exitCode);
    }
    taken.close();
  });

  it.each([
    [['--dev'], {}],
    [['--seed-file', 's.yaml'], {}],
    [['--anchor', 'a'], {}],
    [['--socket', 's'], {}],
    [[], { VAULT_ANCHOR: 'a' }],
  ])('rejects %j %j and names both', async (words, env) => {
    const ended = await place.vault(['serve', ...words, '--workers', '2'], { VAULT_FILE: 'v.db', ...env });
    expect(ended).toMatchObject({ exitCode: 2, stdout: '' });
    expect(ended.stderr).toContain(`vault: only one of --workers and ${words[0] ?? '--anchor'} can be given`);
    // The hint appears only when a variable sets one of the flags.
    expect(ended.stderr.includes('hint:')).toBe(words.length === 0);
  });

  it('a ready file that cannot be created stops all workers', async () => {
    const ended = await serveWith(['--ready-file', 'no-folder/r.json']);
    expect(ended).toMatchObject({ exitCode: 2, stdout: '' });
    expect(ended.stderr.match(/^vault: .*/gm)).toEqual([
      'vault: --ready-file: no-folder/r.json cannot be created (ENOENT)',
    ]);
  });

  it.skipIf(process.platform === 'win32')('each worker runs the key command', async () => {
    writeFileSync(place.inside('key.sh'), 'echo run >> runs; cat v.db.key');
    await serveWith(['--key-command', 'sh key.sh', '--ready-file', 'no-folder/r.json']);
    expect(readFileSync(place.inside('runs'), 'utf8')).toBe('run\n'.repeat(3));
  });

  it('rejects a passphrase that can be read only once', async () => {
    const ended = await place.vault('serve --workers 2 --passphrase-file -', { VAULT_FILE: 'v.db' }, 'x');
    expect(ended).toMatchObject({ exitCode: 2 });
    expect(ended.stderr).toContain('--passphrase-file: several --workers cannot all read -');
  });
});
