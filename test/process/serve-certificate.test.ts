import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { chmodSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { keepCertificate } from '../../src/cli/commands/serve/certificate.ts';
import { parseChain } from '../../src/cli/commands/serve/certificate-warnings.ts';
import { fakeableTimers } from '../fakeable-timers.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { certificatePlace, RELOADED, TLS } from './certificate-fixture.ts';
import { CERT, CERT_KEY, EXPIRED_CERT, NEXT_CERT, NEXT_KEY } from './http-certificate.ts';
import { makeChain } from './openssl-chain.ts';

fakeableTimers();

/** Windows sends SIGHUP only when a console is closed. */
const posix = process.platform !== 'win32';
const { place, write, serve } = certificatePlace();
const KEPT = 'vault: the certificate was not reloaded; the old one stays in use: ';
const DAY = 24 * 60 * 60 * 1000;
const LACKS =
  'the file lacks the certificate of the issuer (intermediate); clients that do not have it refuse to connect';

describe.runIf(posix)('a certificate chain', () => {
  let made: ReturnType<typeof makeChain>;
  beforeAll(() => {
    made = makeChain(temporaryFolder());
  });
  const endOfPem = (pem: string) => new X509Certificate(pem).validToDate;

  it('is judged by its first certificate', async () => {
    const { root, intermediate, server, soon } = made;
    const now = Date.now();
    const chains: readonly (readonly [what: string, pems: readonly string[], warnings: readonly string[]])[] = [
      ['a self-signed certificate', [CERT], []],
      ['a whole chain', [server, intermediate], []],
      ['a whole chain with its root', [server, intermediate, root], []],
      ['a whole chain in another order', [server, root, intermediate], []],
      ['no intermediate', [server], [LACKS]],
      ['the root in place of the intermediate', [server, root], [LACKS]],
      ['an intermediate of others', [server, NEXT_CERT], [LACKS]],
      ['an end within 30 days', [soon, intermediate], [`the certificate expires at ${endOfPem(soon).toISOString()}`]],
    ];
    for (const [what, pems, warnings] of chains) {
      expect([what, (await parseChain(pems.join('\n'))).warnings(now)]).toEqual([what, warnings]);
      expect([what, (await parseChain(`text\r\n${pems.join('\r\n')}\r\n`)).warnings(now)]).toEqual([what, warnings]);
    }
  });

  it('ends with the first of its certificates, but not with a certificate of others', async () => {
    const { root, brief, below, intermediate, server } = made;
    const end = endOfPem(brief);
    const warning = `the certificate of the issuer (brief) expires at ${end.toISOString()}`;
    for (const pems of [
      [below, brief],
      [below, root, brief],
    ]) {
      const { endsAt, warnings } = await parseChain(pems.join('\n'));
      expect([endsAt, warnings(Date.now())]).toEqual([end.getTime(), [warning]]);
      expect(warnings(end.getTime() + 1)).toContain(warning.replace('expires', 'expired'));
    }
    const { endsAt, warnings } = await parseChain([server, intermediate, brief].join('\n'));
    expect([endsAt, warnings(Date.now())]).toEqual([endOfPem(server).getTime(), []]);
  });

  it('is reported from 30 days before its end, then as expired', async () => {
    const { server, intermediate } = made;
    const { endsAt, warnings } = await parseChain(`${server}\n${intermediate}`);
    expect(endsAt).toBe(endOfPem(server).getTime());
    const begins = new X509Certificate(server).validFromDate.getTime();
    // The intermediate may begin in the same second.
    const ofServer = (at: number) => warnings(at).filter((line) => !line.includes('issuer'));
    const text = (at: number) => ofServer(at).map((line) => line.replace(/ (at|before) 2.*/, ''));
    expect([begins - 1, begins, endsAt - 30 * DAY, endsAt - 30 * DAY + 1, endsAt, endsAt + 1].map(text)).toEqual([
      ['the certificate is not valid'],
      [],
      [],
      ['the certificate expires'],
      ['the certificate expires'],
      ['the certificate expired'],
    ]);
  });

  it('is reported on the day when its end comes near, once', async () => {
    write(`${made.server}\n${made.intermediate}`, made.key);
    const end = endOfPem(made.server);
    vi.useFakeTimers({ now: end.getTime() - 40 * DAY });
    onTestFinished(() => void vi.useRealTimers());
    const lines: string[] = [];
    const ends: number[] = [];
    const certificate = keepCertificate(
      { cert: place.inside('tls.pem'), key: place.inside('tls.key') },
      (line) => lines.push(line),
      (at) => ends.push(at),
      () => Date.now(),
    );
    await certificate.read();
    expect([lines, ends]).toEqual([[], [end.getTime()]]);
    vi.advanceTimersByTime(20 * DAY);
    expect(lines).toEqual([`--tls-cert: the certificate expires at ${end.toISOString()}`]);
    vi.advanceTimersByTime(30 * DAY);
    expect(lines.slice(1)).toEqual([`--tls-cert: the certificate expired at ${end.toISOString()}`]);
    certificate.stop();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('without its intermediate is reported, and clients that trust the root refuse it', async () => {
    const { hangUp, ready, lines } = await serve(['--metrics', '127.0.0.1:0']);
    expect(lines().join('\n')).not.toContain('--tls-cert');
    writeFileSync(place.inside('root.pem'), made.root);
    const wait = () => place.vault(`wait --url ${ready['url']} --ca-file root.pem --timeout 5s`);
    const metric = async () => {
      const text = await (await fetch(String(ready['metrics']))).text();
      return /^vault_tls_certificate_not_after_seconds (\S+)$/m.exec(text)?.[1];
    };
    expect(Number(await metric())).toBe(endOfPem(CERT).getTime() / 1000);
    write(made.server, made.key);
    expect(await hangUp(2)).toEqual([`vault: --tls-cert: ${LACKS}`, RELOADED]);
    expect(await wait()).toMatchObject({ exitCode: 8, stderr: expect.stringContaining('UNABLE_TO_VERIFY_LEAF') });
    write(`${made.server}\n${made.intermediate}`, made.key);
    expect(await hangUp()).toEqual([RELOADED]);
    expect(await wait()).toMatchObject({ exitCode: 0 });
    write(made.soon, made.soonKey);
    const end = endOfPem(made.soon);
    const soon = `vault: --tls-cert: the certificate expires at ${end.toISOString()}`;
    expect(await hangUp(3)).toEqual([soon, `vault: --tls-cert: ${LACKS}`, RELOADED]);
    expect(Number(await metric())).toBe(end.getTime() / 1000);
    write(EXPIRED_CERT, made.key);
    expect((await hangUp(1))[0]).toContain('the certificate was not reloaded');
    expect(Number(await metric())).toBe(end.getTime() / 1000);
  });

  it.each(['pkcs8', 'sec1'] as const)(
    'with an encrypted key (%s) is refused, and the hint decrypts it',
    async (form) => {
      write(made.server, made.encrypted[form]);
      const ended = await place.vault(`serve ${TLS.join(' ')} --port 0`);
      expect(ended).toEqual({
        exitCode: 2,
        stdout: '',
        stderr:
          'vault: --tls-key: tls.key is encrypted with a passphrase\n' +
          'hint: decrypt it: openssl pkey -in tls.key -out decrypted.key\n',
      });
      const [, command = ''] = /hint: decrypt it: (.*)/.exec(ended.stderr) ?? [];
      execFileSync('sh', ['-c', `${command} -passin pass:secret`], { cwd: place.cwd });
      expect(statSync(place.inside('decrypted.key')).mode & 0o077).toBe(0);
      const { hangUp } = await serve();
      write(CERT, made.encrypted[form]);
      expect(await hangUp()).toEqual([expect.stringMatching(/stays in use: --tls-key: tls\.key is encrypted/)]);
      write(CERT, CERT_KEY);
      expect(await hangUp()).toEqual([RELOADED]);
    },
  );
});

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
