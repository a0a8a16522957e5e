import { once } from 'node:events';
import net, { type Socket } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { connectStore } from '../../src/store/postgres/connect.ts';
import { parseStoreUrl } from '../../src/store/postgres/store-url.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { message } from './pooler.ts';

const PASSWORD = 'correct horse battery';
const folder = temporaryFolder();

beforeAll(() => void vi.stubEnv('PGPASSWORD', PASSWORD));
afterAll(() => void vi.unstubAllEnvs());

const request = (code: number, content = '') =>
  message('R', Buffer.concat([Buffer.from([0, 0, 0, code]), Buffer.from(content, 'latin1')]));

const OK = Buffer.concat([request(0), message('Z', 'I')]);
const CLEAR = request(3);
const MD5 = request(5, 'salt');
const SCRAM = request(10, 'SCRAM-SHA-256\0\0');
/** The server's part of SCRAM, which repeats the nonce of the client. */
const continued = (iterations: number) => (received: string) =>
  request(11, `r=${/r=([^,\0]+)/.exec(received)?.[1]}more,s=c2FsdA==,i=${iterations}`);

type Step = Buffer | ((received: string) => Buffer);

/** Starts a server that answers the n-th message of the client with the n-th step. */
async function falseServer(steps: readonly Step[], listenAt: number | string, pieces = 1) {
  const received: string[] = [];
  const sockets: Socket[] = [];
  const server = net.createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', async (data) => {
      const step = steps[received.push(data.toString('latin1')) - 1] ?? Buffer.alloc(0);
      const answer = typeof step === 'function' ? step(data.toString('latin1')) : step;
      const size = Math.ceil(answer.length / pieces);
      for (let at = 0; at < answer.length; at += size) {
        if (!socket.destroyed) socket.write(answer.subarray(at, at + size));
        await sleep(5);
      }
    });
  });
  const place = typeof listenAt === 'number' ? server.listen(listenAt, '127.0.0.1') : server.listen(listenAt);
  await once(place, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return { received, port: address !== null && typeof address === 'object' ? address.port : 0 };
}

const connect = (host: string) =>
  connectStore(parseStoreUrl(`postgres://someone@${host}/vault?sslmode=disable`), { timeout: 2000 });

describe('a connection over TCP without TLS', () => {
  it.each<readonly [how: string, steps: readonly Step[], sent: number, what: string, pieces: number]>([
    ['in clear text', [CLEAR], 1, 'the password in clear text', 1],
    ['in clear text, byte by byte', [CLEAR], 1, 'the password in clear text', 99],
    ['as an MD5 hash', [MD5], 1, 'an MD5 hash', 1],
    ['in clear text after SCRAM', [SCRAM, CLEAR], 2, 'the password in clear text', 1],
    ['as an MD5 hash after SCRAM', [SCRAM, MD5], 2, 'an MD5 hash', 1],
    ['by SCRAM that is fast to guess', [SCRAM, continued(4095)], 2, 'too few iterations', 1],
  ])('gives no server the password that it wants %s', async (_, steps, sent, what, pieces) => {
    const { port, received } = await falseServer(steps, 0, pieces);
    await expect(connect(`127.0.0.1:${port}`)).rejects.toMatchObject({
      code: 'store_refused',
      message: expect.stringContaining(what),
      hint: expect.stringContaining('use TLS'),
    });
    await sleep(100);
    expect(received).toHaveLength(sent);
    expect(received.join()).not.toContain(PASSWORD);
  });

  it('gives a server that asks during a session no password', async () => {
    const { port, received } = await falseServer([SCRAM, OK, CLEAR], 0);
    await expect(connect(`127.0.0.1:${port}`)).rejects.toMatchObject({ code: expect.stringMatching(/^store_/) });
    await sleep(100);
    expect(received.join()).not.toContain(PASSWORD);
    // A message `p` answers a request for a password. The first one begins SCRAM.
    expect(received.slice(2).filter((text) => text.startsWith('p'))).toEqual([]);
  });

  it('control: answers SCRAM', async () => {
    const { port, received } = await falseServer([SCRAM, continued(4096)], 0);
    const connecting = connect(`127.0.0.1:${port}`).catch(() => undefined);
    await expect.poll(() => received.length).toBe(3);
    expect(received[2]).toContain(',p=');
    expect(received.join()).not.toContain(PASSWORD);
    void connecting;
  });
});

it.runIf(process.platform !== 'win32')('a Unix socket may ask for the password in clear text', async () => {
  const { received } = await falseServer([CLEAR], path.join(folder, '.s.PGSQL.5432'));
  void connect(encodeURIComponent(folder)).catch(() => undefined);
  await expect.poll(() => received.join()).toContain(PASSWORD);
});
