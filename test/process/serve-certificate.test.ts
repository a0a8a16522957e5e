import { execFileSync } from 'node:child_process';
import { chmodSync, rmSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { certificatePlace, RELOADED } from './certificate-fixture.ts';
import { CERT, CERT_KEY, EXPIRED_CERT, NEXT_CERT, NEXT_KEY } from './http-certificate.ts';

/** Windows sends SIGHUP only when a console is closed. */
const posix = process.platform !== 'win32';
const { place, write, serve } = certificatePlace();
const KEPT = 'vault: the certificate was not reloaded; the old one stays in use: ';

describe.runIf(posix)('SIGHUP', () => {
  it.each([
    ['a key of another certificate', NEXT_CERT, CERT_KEY, 0o600, /^--tls-cert and --tls-key are not a certificate/],
    ['no certificate', 'nothing', NEXT_KEY, 0o600, /^--tls-cert and --tls-key are not a certificate/],
    ['a key that others can read', NEXT_CERT, NEXT_KEY, 0o644, /tls\.key is open to other users$/],
  ])('keeps the certificate for %s, and says so in one line', async (_what, cert, key, mode, reason) => {
    const { hangUp, served } = await serve();
    write(cert, key);
    chmodSync(place.inside('tls.key'), mode);
    const [line = '', ...more] = await hangUp();
    expect([line.slice(0, KEPT.length), more]).toEqual([KEPT, []]);
    expect(line.slice(KEPT.length)).toMatch(reason);
    expect(await served()).toBe(CERT);
    chmodSync(place.inside('tls.key'), 0o600);
    write(NEXT_CERT, NEXT_KEY);
    expect(await hangUp()).toEqual([RELOADED]);
    expect(await served()).toBe(NEXT_CERT);
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
});
