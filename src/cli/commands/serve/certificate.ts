import { statSync } from 'node:fs';
import { Fault } from '../../../core/fault.ts';
import { wallTime } from '../../../core/timers.ts';
import type { Daemon } from '../../../http/daemon.ts';
import type { DaemonOptions } from '../../../http/daemon-options.ts';
import { reasonOf } from '../../error-reason.ts';
import { readSecretFile, readSmallFile } from '../../secret-file.ts';
import type { ServeOptions } from './serve-options.ts';

type Report = (fact: string) => void;

/**
 * Resolves to the PEM texts of the certificate and its key. Rejects with `usage` if they do not belong together.
 * Reports a certificate that has expired or is not yet valid, but accepts it, because the clocks of clients may differ.
 */
export async function readCertificate(
  paths: NonNullable<ServeOptions['tls']>,
  report: Report,
): Promise<NonNullable<DaemonOptions['tls']>> {
  const cert = (await readSmallFile('--tls-cert', paths.cert)).toString('utf8');
  const key = (await readSecretFile('--tls-key', paths.key)).toString('utf8');
  const [{ createSecureContext }, { X509Certificate }] = await Promise.all([import('node:tls'), import('node:crypto')]);
  try {
    createSecureContext({ cert, key });
    const { validFromDate, validToDate } = new X509Certificate(cert);
    const now = wallTime();
    if (validToDate.getTime() < now) report(`--tls-cert: the certificate expired at ${validToDate.toISOString()}`);
    else if (validFromDate.getTime() > now) {
      report(`--tls-cert: the certificate is not valid before ${validFromDate.toISOString()}`);
    }
  } catch (cause) {
    throw new Fault('usage', '--tls-cert and --tls-key are not a certificate and its key in PEM', { cause });
  }
  return { cert, key };
}

/**
 * Replaces the daemon's certificate with the one in the files. If the files are unusable, reports the reason and keeps
 * the certificate. Resolves to whether it was replaced.
 */
export async function reloadCertificate(
  paths: NonNullable<ServeOptions['tls']>,
  daemon: Daemon,
  report: Report,
  reportFailure: Report = report,
): Promise<boolean> {
  try {
    refusePipe('--tls-cert', paths.cert);
    refusePipe('--tls-key', paths.key);
    daemon.useCertificate(await readCertificate(paths, report));
    report('the certificate was reloaded');
    return true;
  } catch (error) {
    const reason = error instanceof Fault ? error.message : reasonOf(error);
    reportFailure(`the certificate was not reloaded; the old one stays in use: ${reason}`);
    return false;
  }
}

/** Throws the fault `usage` for a named pipe: its read may wait forever, and then signals could not stop the daemon. */
function refusePipe(flag: string, path: string): void {
  if (!statSync(path, { throwIfNoEntry: false })?.isFIFO()) return;
  throw new Fault('usage', `${flag}: ${path} is a named pipe, which can be read only at the start`);
}
