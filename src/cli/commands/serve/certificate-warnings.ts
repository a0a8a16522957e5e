import type { X509Certificate } from 'node:crypto';

/** How long before its end a certificate is reported, in milliseconds. */
const SOON_MS = 30 * 24 * 60 * 60 * 1000;
const PEM_BLOCKS = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----[^-]+-----END [^-]+-----/g;

export type Chain = Awaited<ReturnType<typeof parseChain>>;

/**
 * Parses a chain that begins with the certificate of the server. Its issuers follow in any order; other certificates do
 * not matter. Rejects text without certificates.
 */
export async function parseChain(pem: string) {
  const { X509Certificate: Certificate } = await import('node:crypto');
  const server = new Certificate(pem);
  const certificates = (pem.match(PEM_BLOCKS) ?? []).map((block) => new Certificate(block));
  const chain = [server, ...issuersOf(server, certificates)];
  const missing = certificates.some((issuer) => server.checkIssued(issuer)) ? undefined : nameOf(server.issuer);
  return {
    /** When the first of the certificates ends, in milliseconds. */
    endsAt: Math.min(...chain.map(({ validToDate }) => validToDate.getTime())),
    /** Returns sentences about what clients may reject at a time in milliseconds. */
    warnings: (now: number): readonly string[] => [
      ...chain.flatMap((certificate) => {
        const of = certificate === server ? '' : ` of the issuer (${nameOf(certificate.subject)})`;
        return datesOf(certificate, now).map((dates) => `the certificate${of} ${dates}`);
      }),
      // Nothing shows whether the issuer is a root, which clients have, or an intermediate, which they do not have.
      ...(missing === undefined
        ? []
        : [`the file lacks the certificate of the issuer (${missing}); clients that do not have it refuse to connect`]),
    ],
  };
}

/** Returns the issuers of a certificate among others: its own first. Leaves out a certificate that issued itself. */
function issuersOf(server: X509Certificate, certificates: readonly X509Certificate[]): readonly X509Certificate[] {
  const found: X509Certificate[] = [];
  for (let last: X509Certificate | undefined = server; last !== undefined; ) {
    const issued: X509Certificate = last;
    last = certificates.find((one) => issued.checkIssued(one) && !issued.checkIssued(issued) && !found.includes(one));
    if (last !== undefined) found.push(last);
  }
  return found;
}

function datesOf({ validFromDate: begins, validToDate: ends }: X509Certificate, now: number): readonly string[] {
  const remaining = ends.getTime() - now;
  return [
    ...(remaining < 0 ? [`expired at ${ends.toISOString()}`] : []),
    ...(begins.getTime() > now ? [`is not valid before ${begins.toISOString()}`] : []),
    ...(remaining >= 0 && remaining < SOON_MS ? [`expires at ${ends.toISOString()}`] : []),
  ];
}

/** Returns the common name of a subject, or else all of it. */
function nameOf(subject: string): string {
  return /^CN=(.*)$/m.exec(subject)?.[1] ?? subject.replaceAll('\n', ', ');
}
