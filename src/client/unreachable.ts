import { Fault } from '../core/fault.ts';

const CHECK_URL = 'check --url (VAULT_URL)';

/** What can be done about an error code of a connection; the first row whose pattern matches counts. */
const HINTS = [
  [/^ENOTFOUND$|^EAI_/, `there is no such host: ${CHECK_URL}`],
  [/^HPE_/, `what listens there does not speak HTTP: ${CHECK_URL}`],
  [/^EPROTO$|^ERR_SSL_/, `what listens there does not speak TLS: ${CHECK_URL}; is it http://?`],
  [/^ECONNRESET$/, `the connection was closed without an answer: ${CHECK_URL}; is it https://?`],
  [/ALTNAME/, 'the certificate is for another host name: use the one that it is for'],
  [/^CERT_(?:HAS_EXPIRED|NOT_YET_VALID)$/, 'the certificate is out of date: the daemon needs another'],
  [/CERT|VERIFY/, 'the certificate is not trusted here: NODE_EXTRA_CA_CERTS=FILE names one in PEM that is to be'],
] as const satisfies readonly (readonly [RegExp, string])[];

/** The fault for a connection that did not come about, or ended too early; `why` is an error code or says it in words. */
export function unreachable(url: string, why: string, cause?: unknown): Fault {
  const hint = HINTS.find(([pattern]) => pattern.test(why))?.[1];
  return new Fault('unreachable', `cannot reach ${url}: ${why}`, { ...(hint !== undefined && { hint }), cause });
}

/** The fault for an answer that no vault gives. */
export function notAVault(url: string, what: string): Fault {
  return new Fault('unreachable', `the server at ${url} is not a vault${what}`, {
    hint: `another program listens there: ${CHECK_URL}`,
  });
}
