import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:tls';
import { Pool } from 'undici';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { startServe } from '../scripts/run-script.ts';
import { makePlace, startOnTerminal } from './cli-fixture.ts';
import { CERT, CERT_KEY, EXPIRED_CERT, NEXT_CERT, NEXT_KEY } from './http-certificate.ts';

/** Windows sends SIGHUP only when a console is closed. */
const posix = process.platform !== 'win32';
const RELOADS = 4;
const TLS = ['--file', 'v.db', '--no-log', '--tls-cert', 'tls.pem', '--tls-key', 'tls.key'];

const place = makePlace();
beforeAll(() => place.init('v'));

function write(cert: string, key: string): void {
  writeFileSync(place.inside('tls.pem'), cert);
  writeFileSync(place.inside('tls.key'), key, { mode: 0o600 });
}

async function serve(more: readonly string[] = []) {
  write(CERT, CERT_KEY);
  const served = await startServe(place.cwd, [...TLS, ...more]);
  onTestFinished(async () => void (await served.stop()));
  const url = new URL(String(served.ready['url']));
  const lines = () => served.told().split('\n').slice(1, -1);
  return {
    ...served,
    url,
    lines,
    /** Sends SIGHUP, and waits for the lines that it causes. */
    async hangUp(count = 1): Promise<readonly string[]> {
      const before = lines().length;
      process.kill(Number(served.ready['pid']), 'SIGHUP');
      await vi.waitFor(() => expect(lines().length).toBeGreaterThanOrEqual(before + count), 5_000);
      return lines().slice(before);
    },
    /** Resolves to the certificate that a new connection gets. */
    async served(): Promise<string> {
      const socket = connect({ host: '127.0.0.1', port: Number(url.port), rejectUnauthorized: false });
      await once(socket, 'secureConnect');
      const certificate = socket.getPeerX509Certificate()?.toString().trim() ?? '';
      socket.destroy();
      return certificate;
    },
  };
}

const RELOADED = 'vault: the certificate was reloaded';
const KEPT = 'vault: the certificate was not reloaded; the old one stays in use: ';

describe.runIf(posix)('SIGHUP', () => {
  it.each([
    [1, 500],
    [2, 500],
  ])(
    'reloads the certificate of %i processes under %i connections without a failure',
    async (workers, connections) => {
      const { url, hangUp, served, lines } = await serve(['--workers', String(workers)]);
      const ca = [CERT, NEXT_CERT];
      const pool = new Pool(url.origin, { connections, connect: { ca } });
      onTestFinished(() => pool.destroy());
      let [answered, failed, isOver] = [0, 0, false];
      onTestFinished(() => {
        isOver = true;
      });
      const loops = Array.from({ length: connections }, async (_, at) => {
        for (let i = 0; !isOver; i += 1) {
          // Some requests close their connection, so that clients also connect during a reload.
          const reset = (i + at) % 20 === 0;
          try {
            const { statusCode, body } = await pool.request({ method: 'GET', path: '/livez', reset });
            await body.dump();
            if (statusCode === 200) answered += 1;
            else failed += 1;
          } catch {
            failed += 1;
          }
        }
      });
      await vi.waitFor(() => expect(pool.stats.connected).toBeGreaterThan(connections * 0.9), 20_000);
      for (let i = 0; i < RELOADS; i += 1) {
        const before = answered;
        if (i % 2 === 0) write(NEXT_CERT, NEXT_KEY);
        else write(CERT, CERT_KEY);
        expect(await hangUp()).toEqual([RELOADED]);
        await vi.waitFor(() => expect(answered).toBeGreaterThan(before + connections), 10_000);
        // With two workers, two connections in a row go to different ones.
        const now = i % 2 === 0 ? NEXT_CERT : CERT;
        await vi.waitFor(async () => expect([await served(), await served()]).toEqual([now, now]), 5_000);
      }
      isOver = true;
      await Promise.all(loops);
      expect(failed).toBe(0);
      expect(lines()).toHaveLength(RELOADS);
    },
    60_000,
  );

  it.each([
    ['a key of another certificate', NEXT_CERT, CERT_KEY, 0o600, /^--tls-cert and --tls-key are not a certificate/],
    ['no certificate', 'nothing', NEXT_KEY, 0o600, /^--tls-cert and --tls-key are not a certificate/],
    ['a key that others can read', NEXT_CERT, NEXT_KEY, 0o644, /tls\.key is open to other users$/],
  ])('keeps the certificate for %s, and says so in one line', async (_what, cert, key, mode, reason) => {
    const { hangUp, served } = await serve(['--workers', '2']);
    write(cert, key);
    chmodSync(place.inside('tls.key'), mode);
    const [line = '', ...more] = await hangUp();
    expect([line.slice(0, KEPT.length), more]).toEqual([KEPT, []]);
    expect(line.slice(KEPT.length)).toMatch(reason);
    expect([await served(), await served()]).toEqual([CERT, CERT]);
    chmodSync(place.inside('tls.key'), 0o600);
    write(NEXT_CERT, NEXT_KEY);
    expect(await hangUp()).toEqual([RELOADED]);
    await vi.waitFor(async () => expect([await served(), await served()]).toEqual([NEXT_CERT, NEXT_CERT]), 5_000);
  });

  it('does not wait for a named pipe', async () => {
    const { hangUp, stop } = await serve();
    rmSync(place.inside('tls.pem'));
    execFileSync('mkfifo', [place.inside('tls.pem')]);
    onTestFinished(() => rmSync(place.inside('tls.pem')));
    expect(await hangUp()).toEqual([`${KEPT}--tls-cert: tls.pem is a named pipe, which can be read only at the start`]);
    expect(await stop()).toBe(0);
  });

  it('uses an expired certificate, with a warning', async () => {
    const { hangUp, served } = await serve();
    write(EXPIRED_CERT, NEXT_KEY);
    const expired = 'vault: --tls-cert: the certificate expired at 2021-01-01T00:00:00.000Z';
    expect(await hangUp(2)).toEqual([expired, RELOADED]);
    expect(await served()).toBe(EXPIRED_CERT);
  });

  it('stops a daemon on a terminal, which may have been closed', async () => {
    write(CERT, CERT_KEY);
    const ready = place.inside('terminal.json');
    const ended = startOnTerminal(`serve ${TLS.join(' ')} --port 0 --ready-file '${ready}'`, { cwd: place.cwd });
    await vi.waitFor(() => expect(existsSync(ready)).toBe(true), 10_000);
    process.kill(JSON.parse(readFileSync(ready, 'utf8')).pid, 'SIGHUP');
    expect(await ended).toMatchObject({ exitCode: 0 });
  });
});
