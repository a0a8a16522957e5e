import type { IncomingMessage } from 'node:http';

/** Seconds that a browser may cache the answer to a preflight. */
const PREFLIGHT_AGE = 600;
const SCHEME_AND_HOST = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#*@,]+$/;

/** Decides which web pages may read the daemon's answers (the Fetch standard, §3.3). */
export type Cors = ReturnType<typeof createCors>;

/**
 * An origin as a browser writes it in `Origin`, such as `https://shop.example`: no path, no default port, no upper
 * case, never `*` or `null`.
 */
export function isOrigin(text: string): boolean {
  if (!SCHEME_AND_HOST.test(text) || !URL.canParse(text)) return false;
  // URL knows no origin for other schemes (an app's `capacitor://localhost`).
  const { origin } = new URL(text);
  return origin === text || origin === 'null';
}

/**
 * The list is exact. A page of another origin gets an answer without CORS fields, and its browser hides that answer. It
 * cannot send changes, because the key's header needs a preflight first.
 */
export function createCors(origins: readonly string[], headerPrefix: string) {
  const listed: ReadonlySet<string> = new Set(origins);
  const allowHeaders = [
    'Content-Type',
    ...['API-KEY', 'TRACE-ID', 'IDEMPOTENCY-KEY'].map((n) => `${headerPrefix}-${n}`),
  ];
  // The fields for every answer: a cache must not give one origin's answer to another.
  const vary = listed.size === 0 ? [] : ['Vary', 'Origin'];
  const exposed = [
    'Access-Control-Expose-Headers',
    `${headerPrefix}-TRACE-ID, ${headerPrefix}-IDEMPOTENT-REPLAYED, Retry-After`,
  ];

  /** The request comes from a page of a listed origin. */
  function allows({ headers }: IncomingMessage): boolean {
    return headers.origin !== undefined && listed.has(headers.origin);
  }

  return {
    /**
     * Returns whether a web page sends the request: browsers add this header, and no page can prevent it (Fetch
     * Metadata, §2).
     */
    isFromBrowser: (request: IncomingMessage): boolean => 'sec-fetch-site' in request.headers || allows(request),
    /** The fields of every response. */
    fields(request: IncomingMessage): readonly string[] {
      if (!allows(request)) return vary;
      return ['Access-Control-Allow-Origin', request.headers.origin ?? '', ...exposed, ...vary];
    },
    /**
     * The fields of the answer to a preflight; undefined when the request is no preflight, or its origin is not listed.
     */
    preflightFields(request: IncomingMessage, methods: string): readonly string[] | undefined {
      const isPreflight = request.method === 'OPTIONS' && 'access-control-request-method' in request.headers;
      if (!isPreflight || !allows(request)) return undefined;
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
