import { statSync } from 'node:fs';
import { shellWord } from '../../../client/shell-word.ts';
import { Fault } from '../../../core/fault.ts';
import { clearInterval, setInterval, wallTime } from '../../../core/timers.ts';
import type { Daemon } from '../../../http/daemon.ts';
import type { DaemonOptions } from '../../../http/daemon-options.ts';
import { reasonOf } from '../../exit/error-reason.ts';
import { readSecretFile, readSmallFile } from '../../files/secret-file.ts';
import { type Chain, parseChain } from './certificate-warnings.ts';
import type { ServeOptions } from './serve-options.ts';

/** How often the dates of the certificate are checked, in milliseconds. */
const CHECK_MS = 24 * 60 * 60 * 1000;
/** The two forms of an encrypted key in PEM (RFC 5958 and RFC 1421). */
const ENCRYPTED = /^-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m;

type Paths = NonNullable<ServeOptions['tls']>;
type Report = (fact: string) => void;

/** The certificate of a daemon, read from its files. */
export type Certificate = ReturnType<typeof keepCertificate>;

/**
 * Returns functions that read and reload a certificate. `report` receives a sentence about a certificate that has
 * expired or soon expires, that is not yet valid, or that lacks its issuer: when it is read, and on the day when that
 * begins. Such a certificate is still used, because the clocks and the trust of clients may differ. `noteEnd`
 * receives the end of each certificate in use, in milliseconds.
 */
export function keepCertificate(
  paths: Paths,
  report: Report,
  noteEnd: (at: number) => void = () => undefined,
  now = wallTime,
) {
  let chain: Chain | undefined;
  let reported: readonly string[] = [];

  function warn(): void {
    const known = reported;
    reported = chain?.warnings(now()) ?? [];
    for (const warning of reported) if (!known.includes(warning)) report(`--tls-cert: ${warning}`);
  }

  function use(read: Chain): void {
    [chain, reported] = [read, []];
    warn();
    noteEnd(read.endsAt);
  }

  const timer = setInterval(warn, CHECK_MS).unref();
  return {
    /** Resolves to the PEM texts. Rejects with `usage` if they do not belong together. */
    async read(): Promise<NonNullable<DaemonOptions['tls']>> {
      const { tls, chain: read } = await readFiles(paths);
      use(read);
      return tls;
    },
    /**
     * Replaces the daemon's certificate with the one in the files. If the files are unusable, reports the reason and
     * keeps the certificate.
     */
    async reload(daemon: Daemon): Promise<void> {
      try {
        refusePipe('--tls-cert', paths.cert);
        refusePipe('--tls-key', paths.key);
        const { tls, chain: read } = await readFiles(paths);
        daemon.useCertificate(tls);
        use(read);
        report('the certificate was reloaded');
      } catch (error) {
        const reason = error instanceof Fault ? error.message : reasonOf(error);
        report(`the certificate was not reloaded; the old one stays in use: ${reason}`);
      }
    },
    stop: () => clearInterval(timer),
  };
}

async function readFiles(paths: Paths) {
  const cert = (await readSmallFile('--tls-cert', paths.cert)).toString('utf8');
  const key = (await readSecretFile('--tls-key', paths.key)).toString('utf8');
  if (ENCRYPTED.test(key)) {
    throw new Fault('usage', `--tls-key: ${paths.key} is encrypted with a passphrase`, {
      hint: `decrypt it: openssl pkey -in ${shellWord(paths.key)} -out decrypted.key`,
    });
  }
  const { createSecureContext } = await import('node:tls');
  try {
    createSecureContext({ cert, key });
    return { tls: { cert, key }, chain: await parseChain(cert) };
  } catch (cause) {
    throw new Fault('usage', '--tls-cert and --tls-key are not a certificate and its key in PEM', { cause });
  }
}

/** Throws the fault `usage` for a named pipe: its read may wait forever, and then signals could not stop the daemon. */
function refusePipe(flag: string, path: string): void {
  if (!statSync(path, { throwIfNoEntry: false })?.isFIFO()) return;
  throw new Fault('usage', `${flag}: ${path} is a named pipe, which can be read only at the start`);
}
