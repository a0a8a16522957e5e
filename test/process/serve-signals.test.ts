import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { cleanEnvironment, startServe } from '../scripts/run-script.ts';
import { endOf, makePlace, VAULT_BIN } from './cli-fixture.ts';

/** Windows has no signals. A daemon there ends with its console. */
const posix = process.platform !== 'win32';
const SECRET = '4012888888881881';

/** Makes a daemon fail on SIGUSR2 as a bug would. The messages contain a secret, as those of V8 may. */
const BUGS = `
const bug = () => Object.assign(new TypeError('${SECRET} is not iterable'), { code: 'E_OF_A_BUG' });
process.on('SIGUSR2', () => {
  if (process.env.BUG === 'rejection') Promise.reject(bug());
  else setImmediate(() => { throw bug(); });
});`;

const place = makePlace();
let writerKey = '';
beforeAll(async () => {
  writerKey = await place.application('v', await place.init('v'), 'token:create,token:read');
  writeFileSync(place.inside('bugs.cjs'), BUGS);
});

const started: ChildProcess[] = [];
afterAll(() => {
  for (const child of started) if (child.exitCode === null) child.kill('SIGKILL');
});

let count = 0;
async function serve(env: Readonly<Record<string, string>> = {}) {
  count += 1;
  const served = await startServe(place.cwd, ['--file', 'v.db'], { env, readyName: `ready-${count}.json` });
  started.push(served.child);
  return { ...served, port: Number(new URL(served.url).port) };
}

/** A connection, and everything received on it until it closed. */
interface Line {
  readonly socket: Socket;
  readonly answer: Promise<string>;
}

function open(port: number): Line {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk) => {
    text += String(chunk);
  });
  socket.on('error', () => undefined);
  return { socket, answer: new Promise((resolve) => socket.once('close', () => resolve(text))) };
}

const BODY = `{"type":"token","data":"${SECRET}"}`;
const request = (port: number, line: string, more = '') =>
  `${line} HTTP/1.1\r\nHost: localhost:${port}\r\nSVC-API-KEY: ${writerKey}\r\n${more}\r\n`;

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';

/** Starts a request that stays in flight until `finish` sends the rest of its body. */
async function startRequest(port: number): Promise<Line & { finish(): void }> {
  const { socket, answer } = open(port);
  const more = `Content-Type: application/json\r\nContent-Length: ${BODY.length}\r\nExpect: 100-continue\r\n`;
  socket.write(request(port, 'POST /tokens', more));
  await once(socket, 'data');
  socket.write(BODY.slice(0, 5));
  return {
    socket,
    answer: answer.then((text) => text.replace(CONTINUE, '')),
    finish: () => socket.write(BODY.slice(5)),
  };
}

const isRefused = (port: number) =>
  fetch(`http://127.0.0.1:${port}/livez`).then(
    () => false,
    () => true,
  );

// Run them concurrently, because one waits for most of 10 s.
describe.runIf(posix)('a signal', { concurrent: true }, () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    '%s: accepts no new requests, finishes those in flight, exit 0',
    async (signal) => {
      const { child, port, ended, told } = await serve();
      const kept = open(port);
      kept.socket.write(request(port, 'GET /livez'));
      const busy = await startRequest(port);
      const begin = performance.now();
      child.kill(signal);
      expect(await kept.answer).toMatch(/^HTTP\/1\.1 200 /);
      expect(await isRefused(port)).toBe(true);
      busy.finish();
      expect(await busy.answer).toMatch(/^HTTP\/1\.1 201 /);
      expect(await ended).toBe(0);
      expect(performance.now() - begin).toBeLessThan(6_000);
      expect(told()).not.toContain(SECRET);
      expect(told().match(/^vault: stopping.*$/gm)).toEqual([`vault: stopping after ${signal}`]);
    },
  );

  it('ends unfinished requests within 10 s', async () => {
    const { child, port, ended } = await serve();
    const busy = await startRequest(port);
    const begin = performance.now();
    child.kill('SIGTERM');
    expect(await busy.answer).toMatch(/^HTTP\/1.1 408 /);
    expect(await ended).toBe(0);
    expect(performance.now() - begin).toBeLessThan(10_000);
  }, 20_000);

  it.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('a second signal, %s, ends the daemon at once', async (signal, code) => {
    const { child, port, ended, told } = await serve();
    await startRequest(port);
    child.kill('SIGTERM');
    while (!(await isRefused(port))) await sleep(20);
    expect(child.exitCode).toBe(null);
    const begin = performance.now();
    child.kill(signal);
    expect(await ended).toBe(code);
    const stops = told()
      .split('\n')
      .filter((line) => line.startsWith('vault: stopping'));
    expect(stops).toEqual(['vault: stopping after SIGTERM', `vault: stopping at once after ${signal}`]);
    // After one signal, the daemon would wait for the request for most of 10 s.
    expect(performance.now() - begin).toBeLessThan(5_000);
    expect(await place.vault('doctor --file v.db')).toMatchObject({ exitCode: 0 });
  });
});

describe.runIf(posix)('SIGUSR1', () => {
  const OPENED = /Debugger listening|Starting inspector/;

  it('does not open the inspector, at the start or later', async () => {
    const busy = createServer((_request, response) => response.writeHead(503).end()).listen(0, '127.0.0.1');
    onTestFinished(() => void busy.close());
    await once(busy, 'listening');
    const url = `http://127.0.0.1:${(busy.address() as AddressInfo).port}`;
    const words = ['--inspect-port=0', VAULT_BIN, 'wait', '--url', url, '--timeout', '800ms'];
    const early = spawn(process.execPath, words, { env: cleanEnvironment(), stdio: ['ignore', 'ignore', 'pipe'] });
    const earlyEnd = endOf(early, 10_000);
    await once(busy, 'request');
    early.kill('SIGUSR1');
    expect(await earlyEnd).toMatchObject({ exitCode: 8, stderr: expect.not.stringMatching(OPENED) });

    const { child, port, ended, told } = await serve({ NODE_OPTIONS: '--inspect-port=0' });
    for (let i = 0; i < 3; i += 1) child.kill('SIGUSR1');
    await sleep(500);
    expect(await isRefused(port)).toBe(false);
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
    expect(told()).not.toMatch(OPENED);
  });

  it('control: opens the inspector of another program', async () => {
    const child = spawn(process.execPath, ['--inspect-port=0', '-e', 'setTimeout(() => {}, 1500)'], {
      env: cleanEnvironment(),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const ended = endOf(child, 10_000);
    await sleep(500);
    child.kill('SIGUSR1');
    expect((await ended).stderr).toMatch(OPENED);
  });
});

describe.runIf(posix)('an uncaught error', () => {
  it.each(['exception', 'rejection'])('%s: prints its code, finishes requests in flight, exit 70', async (bug) => {
    const options = `--require ${JSON.stringify(place.inside('bugs.cjs'))}`;
    const { child, port, ended, told } = await serve({ NODE_OPTIONS: options, BUG: bug });
    const busy = await startRequest(port);
    child.kill('SIGUSR2');
    await sleep(150);
    expect(await isRefused(port)).toBe(true);
    busy.finish();
    expect(await busy.answer).toMatch(/^HTTP\/1\.1 201 /);
    expect(await ended).toBe(70);
    expect(told()).toContain('vault: stopping after an uncaught error (E_OF_A_BUG)\n');
    expect(told()).not.toMatch(new RegExp(`${SECRET}|iterable|bugs\\.cjs`));
    expect(await place.vault('doctor --file v.db')).toMatchObject({ exitCode: 0 });
  });
});
