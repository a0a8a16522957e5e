import type { Pool } from 'undici';
import { Fault } from '../core/fault.ts';

/** One timer a request covers connecting, sending and reading. */
const NO_TIMEOUTS = { connectTimeout: 0, headersTimeout: 0, bodyTimeout: 0 };
const CHECK_URL = 'check --url (VAULT_URL)';

/** Hints for the error codes of connections; the first row with a matching pattern counts. */
const HINTS = [
  [/^ENOTFOUND$|^EAI_/, `there is no such host: ${CHECK_URL}`],
  [/^HPE_/, `what listens there does not speak HTTP: ${CHECK_URL}`],
  [/^EPROTO$|^ERR_SSL_/, `what listens there does not speak TLS: ${CHECK_URL}; is it http://?`],
  [/^ECONNRESET$/, `the connection was closed without an answer: ${CHECK_URL}; is it https://?`],
  [/ALTNAME/, 'the certificate is for another host name: use the one that it is for'],
  [/^CERT_(?:HAS_EXPIRED|NOT_YET_VALID)$/, 'the certificate is out of date: the daemon needs another'],
  [/CERT|VERIFY/, 'the certificate is not trusted here: NODE_EXTRA_CA_CERTS=FILE names one in PEM that is to be'],
] as const satisfies readonly (readonly [RegExp, string])[];

/** The request as it is sent. The path has no host and is already encoded. */
export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bodyText?: string | undefined;
}

export interface HttpResponse {
  readonly status: number;
  /** Lower-case names; a repeated header in Node's form. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Uint8Array;
}

/** Sends one request and waits for the whole response. A response of any status is a success here. */
export interface HttpTransport {
  send(request: HttpRequest): Promise<HttpResponse>;
  close(): Promise<void>;
}

/** Where a daemon listens: `http://…`, `https://…` or `unix:/path.sock`. */
export interface Address {
  readonly secure: boolean;
  readonly connection: { readonly host?: string; readonly port?: string; readonly socketPath?: string };
  /** Prepended to each path; empty, or beginning with a slash and without one at its end. */
  readonly base: string;
  readonly hostHeader: string;
}

/**
 * Sends many requests over a pool of kept connections. Follows no redirect: the API key would go with it. Throws the
 * faults `usage` (the URL) and `unreachable`.
 */
export function httpTransport(url: string, timeoutMs: number): HttpTransport {
  const { secure, connection, base, hostHeader } = parseAddress(url);
  const origin = `${secure ? 'https' : 'http'}://${hostHeader}`;
  const { socketPath } = connection;
  let opening: Promise<Pool> | undefined;

  async function open(): Promise<Pool> {
    // A bundle of CommonJS has only a default export.
    const { default: undici } = await import('undici');
    return new undici.Pool(origin, { ...NO_TIMEOUTS, allowH2: false, ...(socketPath && { socketPath }) });
  }

  return {
    async send({ method, path, headers, bodyText = null }) {
      opening ??= open();
      const pool = await opening;
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(new Error('timeout')), timeoutMs);
      try {
        const { signal } = late;
        const response = await pool.request({ method, path: `${base}${path}`, headers, body: bodyText, signal });
        const body = await response.body.bytes();
        // undici frees the connection in the next turn; a request before that would open another one.
        await new Promise((resolve) => setImmediate(resolve));
        return { status: response.statusCode, headers: response.headers, body };
      } catch (error) {
        throw unreachable(url, late.signal.aborted ? `no answer within ${timeoutMs} ms` : reasonOf(error), error);
      } finally {
        clearTimeout(timer);
      }
    },
    async close() {
      await (await opening)?.destroy();
    },
  };
}

/** Returns an error code of Node, also where undici has its own or, for bytes that are no HTTP, none. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error && 'code' in error)) return 'the connection broke';
  error.code ??= 'HPE_INVALID_CONSTANT';
  return error.code === 'UND_ERR_SOCKET' ? 'ECONNRESET' : String(error.code);
}

/** Takes a daemon's URL apart. Throws the fault `usage`. */
export function parseAddress(url: string): Address {
  if (url.startsWith('unix:')) {
    const socketPath = url.slice('unix:'.length).replace(/^\/\/(?=\/)/, '');
    if (socketPath === '') throw refusal();
    return { secure: false, connection: { socketPath }, base: '', hostHeader: 'localhost' };
  }
  const parsed = URL.parse(url);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) throw refusal();
  if (parsed.username + parsed.password + parsed.search + parsed.hash !== '') throw refusal();
  return {
    secure: parsed.protocol === 'https:',
    // Node wants the address of an IPv6 host without its brackets.
    connection: {
      host: parsed.hostname.replace(/^\[(.*)\]$/, '$1'),
      ...(parsed.port !== '' && { port: parsed.port }),
    },
    base: parsed.pathname.replace(/\/+$/, ''),
    hostHeader: parsed.host,
  };
}

/** Leaves out the URL: it may contain a password. */
function refusal(): Fault {
  return new Fault('usage', '--url (VAULT_URL) is http://host:port, https://host:port or unix:/path.sock');
}

/** Returns the fault for a connection that failed or ended too early; `why` is an error code or a text. */
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
