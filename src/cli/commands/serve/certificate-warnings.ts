/** How long before its end a certificate is reported, in milliseconds. */
const SOON_MS = 30 * 24 * 60 * 60 * 1000;
const PEM_BLOCKS = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----[^-]+-----END [^-]+-----/g;

/** A certificate chain in PEM: when its first certificate ends, in milliseconds, and what clients may reject. */
export interface Chain {
  readonly endsAt: number;
  /** Returns sentences about the chain at a time in milliseconds. */
  warnings(now: number): readonly string[];
}

/** Parses a chain whose first certificate is that of the server. Rejects text without certificates. */
export async function parseChain(pem: string): Promise<Chain> {
  const { X509Certificate } = await import('node:crypto');
  const server = new X509Certificate(pem);
  const certificates = (pem.match(PEM_BLOCKS) ?? []).map((block) => new X509Certificate(block));
  const [begins, ends] = [server.validFromDate, server.validToDate];
  const missing = certificates.some((issuer) => server.checkIssued(issuer)) ? undefined : nameOf(server.issuer);
  return {
    endsAt: ends.getTime(),
    warnings: (now) => [
      ...(ends.getTime() < now ? [`the certificate expired at ${ends.toISOString()}`] : []),
      ...(begins.getTime() > now ? [`the certificate is not valid before ${begins.toISOString()}`] : []),
      ...(ends.getTime() >= now && ends.getTime() < now + SOON_MS
        ? [`the certificate expires at ${ends.toISOString()}`]
        : []),
      // Nothing shows whether the issuer is a root, which clients have, or an intermediate, which they do not have.
      ...(missing === undefined
        ? []
        : [`the file lacks the certificate of the issuer (${missing}); clients that do not have it refuse to connect`]),
    ],
  };
}

/** Returns the common name of a subject, or else all of it. */
function nameOf(subject: string): string {
  return /^CN=(.*)$/m.exec(subject)?.[1] ?? subject.replaceAll('\n', ', ');
}
