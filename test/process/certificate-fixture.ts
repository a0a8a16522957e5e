import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:tls';
import { beforeAll, expect, vi } from 'vitest';
import { makePlace } from './cli-fixture.ts';
import { CERT, CERT_KEY } from './http-certificate.ts';

export const TLS = ['--file', 'v.db', '--no-log', '--tls-cert', 'tls.pem', '--tls-key', 'tls.key'];

export const RELOADED = 'vault: the certificate was reloaded';

/**
 * Creates the vault `v.db` before the tests of a file. Each file calls this once: test files of a worker share modules,
 * but not hooks.
 */
export function certificatePlace() {
  const place = makePlace();
  beforeAll(() => place.init('v'));

  /** Writes the certificate and its key to the files that the daemon reads. */
  function write(cert: string, key: string): void {
    writeFileSync(place.inside('tls.pem'), cert);
    writeFileSync(place.inside('tls.key'), key, { mode: 0o600 });
  }

  /** Starts a daemon with the first certificate. */
  async function serve(more: readonly string[] = []) {
    write(CERT, CERT_KEY);
    const served = await place.serve([...TLS, ...more]);
    const url = new URL(served.url);
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

  return { place, write, serve };
}
