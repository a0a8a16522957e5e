import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { parseAddress } from '../../src/client/http-transport.ts';
import { startDaemon } from '../../src/http/daemon.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { CERT, CERT_KEY } from './http-certificate.ts';
import { daemonOptions, type EchoClient, echoClient, flawsOfProblem, KEY, raw, sleep } from './http-fixture.ts';
import { faultCode, makeGate, shut, start } from './http-harness.ts';

const seen = (client: EchoClient) => client.calls.flatMap(({ params }) => Object.values(params));

/** Waits until the daemon has accepted all earlier connections, which it accepts in order. */
async function afterAllBefore(port: number, get: (path: string) => string): Promise<void> {
  expect((await raw(port, get('/livez'))).responses).toHaveLength(1);
}

describe('stop', () => {
  test('finishes requests in flight, rejects others, and closes idle connections', async () => {
    const { client, daemon, port, get } = await start();
    const open = shut(client);
    const busy = raw(port, get('/tokens/busy'), { untilClosed: true });
    // Two requests on one connection: the second arrives while the daemon is stopping.
    const second = makeGate();
    const pieces = [get('/tokens/early'), get('/tokens/late')];
    const late = raw(port, pieces, { expect: 2, pause: second.opened, untilClosed: true });
    const idle = raw(port, [], { untilClosed: true });
    const kept = raw(port, get('/livez'), { untilClosed: true });
    await vi.waitFor(() => expect(seen(client)).toEqual(['busy', 'early']), 5_000);
    await afterAllBefore(port, get);
    const begin = performance.now();
    const stopped = daemon.stop();
    expect(daemon.stop()).toBe(stopped);
    // Other requests are still in flight.
    expect((await idle).closed).toBe(true);
    expect((await kept).closed).toBe(true);
    await expect(raw(port, get('/livez')).then(({ responses }) => responses)).resolves.toEqual([]);
    second.open();
    await sleep(100);
    open();
    const [first] = (await busy).responses;
    expect(first?.status).toBe(200);
    expect(first?.headers.get('connection')).toBe('close');
    const answers = (await late).responses;
    expect(answers[0]?.status).toBe(200);
    await stopped;
    expect(performance.now() - begin).toBeLessThan(2_000);
    expect(seen(client)).toEqual(['busy', 'early']);
  });

  test('rejects new requests on open connections, but answers /livez', async () => {
    const { daemon, port, get } = await start();
    const head = 'POST /tokens HTTP/1.1\r\n';
    const rest = (path: string) => get(path, '').slice(get(path, '').indexOf('\r\n') + 2);
    const { opened: pause, open } = makeGate();
    const refused = raw(port, [head, rest('/tokens')], { pause, untilClosed: true });
    const alive = raw(port, ['GET /livez HTTP/1.1\r\n', rest('/livez')], { pause, untilClosed: true });
    const unready = raw(port, ['GET /readyz HTTP/1.1\r\n', rest('/readyz')], { pause, untilClosed: true });
    await afterAllBefore(port, get);
    const stopped = daemon.stop();
    open();
    expect(flawsOfProblem((await refused).responses[0], 'vault_stopping')).toEqual([]);
    expect(flawsOfProblem((await unready).responses[0], 'vault_stopping')).toEqual([]);
    expect((await alive).responses.map(({ status }) => status)).toEqual([200]);
    await stopped;
  });

  test('cuts requests that do not finish in time', async () => {
    const { client, daemon, port, get } = await start({ timeouts: { stop: 200 } });
    client.gate = new Promise(() => undefined);
    const busy = raw(port, get('/tokens/busy'), { untilClosed: true });
    await vi.waitFor(() => expect(seen(client)).toEqual(['busy']), 5_000);
    const begin = performance.now();
    await daemon.stop();
    expect(performance.now() - begin).toBeLessThan(1_000);
    expect((await busy).responses).toEqual([]);
  });
});

describe('a Unix socket', () => {
  test('is private, answers, and is removed', async () => {
    const path = join(temporaryFolder(onTestFinished), 'v.sock');
    const umask = process.umask();
    const { client, daemon } = await start({ socket: path });
    expect(process.umask()).toBe(umask);
    expect(daemon.url).toBe(`unix:${path}`);
    expect(daemon.port).toBeUndefined();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const answer = await raw(path, `GET /tokens HTTP/1.1\r\nHost: localhost\r\nSVC-API-KEY: ${KEY}\r\n\r\n`);
    expect([answer.responses[0]?.status, client.calls.length]).toEqual([200, 1]);
    const foreign = await raw(path, 'GET /tokens HTTP/1.1\r\nHost: evil.test:80\r\n\r\n');
    expect(flawsOfProblem(foreign.responses[0], 'wrong_host')).toEqual([]);
    await daemon.stop();
    expect(existsSync(path)).toBe(false);
  });

  test('of a dead daemon is replaced; a live socket or a file is not', async () => {
    const path = join(temporaryFolder(onTestFinished), 'v.sock');
    await leaveSocket(path);
    expect(existsSync(path)).toBe(true);
    const { client } = await start({ socket: path });
    expect(await startDaemon(client, daemonOptions({ socket: path })).catch(faultCode)).toBe('address_in_use');
    expect((await raw(path, 'GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n')).responses[0]?.status).toBe(200);
    const file = join(temporaryFolder(onTestFinished), 'notes.txt');
    writeFileSync(file, 'mine');
    expect(await startDaemon(client, daemonOptions({ socket: file })).catch(faultCode)).toBe('address_in_use');
    expect(existsSync(file)).toBe(true);
  });

  test('of another daemon stays when the first one ends', async () => {
    const path = join(temporaryFolder(onTestFinished), 'v.sock');
    const first = await start({ socket: path });
    rmSync(path);
    const second = await start({ socket: path });
    await first.daemon.stop();
    expect((await raw(path, 'GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n')).responses[0]?.status).toBe(200);
    await second.daemon.stop();
    expect(readdirSync(dirname(path))).toEqual([]);
  });

  test.runIf(['linux', 'darwin'].includes(process.platform))('has a path of a limited length', async () => {
    const folder = temporaryFolder(onTestFinished);
    const most = process.platform === 'linux' ? 107 : 103;
    const pathOf = (bytes: number) => join(folder, 's'.repeat(bytes - folder.length - 1));
    const { daemon } = await start({ socket: pathOf(most) });
    expect(daemon.url).toBe(`unix:${pathOf(most)}`);
    expect((await raw(pathOf(most), 'GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n')).responses[0]?.status).toBe(200);
    const error = await startDaemon(echoClient(), daemonOptions({ socket: pathOf(most + 1) })).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({
      code: 'usage',
      message: `--socket: the path of the socket has ${most + 1} bytes, and the system allows ${most}`,
    });
    expect(() => parseAddress(`unix:${pathOf(most + 1)}`)).toThrow(
      `--url: the path of the socket has ${most + 1} bytes`,
    );
  });

  test('has the given path if the absolute one is too long', async () => {
    const folder = join(temporaryFolder(onTestFinished), 'f'.repeat(100));
    mkdirSync(folder);
    const before = process.cwd();
    process.chdir(folder);
    onTestFinished(() => process.chdir(before));
    const { daemon } = await start({ socket: 'v.sock' });
    expect(daemon.url).toBe('unix:v.sock');
    expect((await raw('v.sock', 'GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n')).responses[0]?.status).toBe(200);
    await daemon.stop();
    expect(existsSync('v.sock')).toBe(false);
  });
});

/**
 * Leaves a socket file without a listener. The file is moved away while its server closes, because closing deletes it.
 */
async function leaveSocket(path: string): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(path, resolve));
  renameSync(path, `${path}.kept`);
  await new Promise((resolve) => server.close(resolve));
  renameSync(`${path}.kept`, path);
  chmodSync(path, 0o600);
}

test('an invalid header prefix is a fault', async () => {
  expect(await startDaemon(echoClient(), daemonOptions({ headerPrefix: 'A:B' })).catch(faultCode)).toBe('usage');
});

test('an unfinished TLS handshake times out like unfinished headers', async () => {
  const { port } = await start({ tls: { cert: CERT, key: CERT_KEY }, timeouts: { headers: 300 } });
  const startOfRecord = Buffer.from('160301', 'hex');
  const outcomes = await Promise.all([[], [startOfRecord]].map((sent) => raw(port, sent, { untilClosed: true })));
  expect(outcomes.map(({ closed }) => closed)).toEqual([true, true]);
});
