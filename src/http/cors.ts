import type { IncomingMessage } from 'node:http';

/** How long a browser may cache the answer to a preflight, in seconds. */
const PREFLIGHT_AGE = 600;
const SCHEME_AND_HOST = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#*@,]+$/;

/** Decides which web pages may read the daemon's answers (the Fetch standard, §3.3). */
export type Cors = ReturnType<typeof createCors>;

/**
 * Returns whether the text is an origin as browsers write it in `Origin`, such as `https://shop.example`. It has no
 * path, no default port and no upper case, and is never `*` or `null`.
 */
export function isOrigin(text: string): boolean {
  if (!SCHEME_AND_HOST.test(text) || !URL.canParse(text)) return false;
  // For other schemes, such as an app's `capacitor://localhost`, URL gives the origin `null`.
  const { origin } = new URL(text);
  return origin === text || origin === 'null';
}

/**
 * Returns the rules for pages of exactly these origins. A page of another origin gets an answer without CORS fields,
 * and its browser hides that answer. Such a page cannot send changes either, because the header with the API key needs
 * a preflight first.
 */
export function createCors(origins: readonly string[], headerPrefix: string) {
  const listed: ReadonlySet<string> = new Set(origins);
  const allowHeaders = [
    'Content-Type',
    ...['API-KEY', 'TRACE-ID', 'IDEMPOTENCY-KEY'].map((n) => `${headerPrefix}-${n}`),
    'traceparent',
  ];
  // These fields are in every answer, so that a cache does not give one origin's answer to another.
  const vary = listed.size === 0 ? [] : ['Vary', 'Origin'];
  const exposed = [
    'Access-Control-Expose-Headers',
    `${headerPrefix}-TRACE-ID, ${headerPrefix}-IDEMPOTENT-REPLAYED, Retry-After`,
  ];

  return {
    /**
     * Returns whether a web page sent the request. Browsers add `Sec-Fetch-Site` to its requests, and the page cannot
     * prevent it (Fetch Metadata, §2).
     */
    isFromBrowser: ({ headers }: IncomingMessage): boolean =>
      'sec-fetch-site' in headers || listed.has(headers.origin ?? ''),
    fields({ headers: { origin = '' } }: IncomingMessage): readonly string[] {
      return listed.has(origin) ? ['Access-Control-Allow-Origin', origin, ...exposed, ...vary] : vary;
    },
    /**
     * Returns the fields of the answer to a preflight, or undefined if the request is not a preflight or its origin is
     * not listed.
     */
    preflightFields({ method, headers }: IncomingMessage, methods: string): readonly string[] | undefined {
      const isPreflight = method === 'OPTIONS' && 'access-control-request-method' in headers;
      if (!isPreflight || !listed.has(headers.origin ?? '')) return undefined;
      return [
        'Access-Control-Allow-Methods',
        methods,
        'Access-Control-Allow-Headers',
        allowHeaders.join(', '),
        'Access-Control-Max-Age',
        String(PREFLIGHT_AGE),
      ];
    },
  };
}
