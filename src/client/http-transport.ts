import type { Pool } from 'undici';
import { Fault, isError } from '../core/fault.ts';
import { loadedOnce } from '../core/loaded-once.ts';
import { checkSocketPath } from '../core/socket-path.ts';
import { clearTimeout, endOfTick, setTimeout } from '../core/timers.ts';

/** Disables undici's timeouts: one timer for each request covers connecting, sending and reading. */
const NO_TIMEOUTS = { connectTimeout: 0, headersTimeout: 0, bodyTimeout: 0 };
/** Verifies the server, whatever NODE_TLS_REJECT_UNAUTHORIZED says: requests contain an API key. */
export const VERIFIED = { rejectUnauthorized: true } as const;
const CHECK_URL = 'check --url (VAULT_URL)';

/** Hints for the error codes of connections; the first matching pattern wins. */
const HINTS = [
  [/^ENOTFOUND$|^EAI_/, `${CHECK_URL}: the host name does not resolve`],
  [/^HPE_/, `${CHECK_URL}: the server at this address does not speak HTTP`],
  [/^EPROTO$|^ERR_SSL_/, `${CHECK_URL}: the server at this address does not use TLS; try http://`],
  [/^ECONNRESET$/, `${CHECK_URL}: the connection was closed without an answer; try https://`],
  [/ALTNAME/, 'use the host name of the certificate'],
  [/^CERT_(?:HAS_EXPIRED|NOT_YET_VALID)$/, 'renew the certificate of the daemon, which is expired or not yet valid'],
  [/CERT|VERIFY/, 'to trust the certificate, name a PEM file with it: --ca-file (VAULT_CA_FILE)'],
] as const satisfies readonly (readonly [RegExp, string])[];

/** A request in the form in which it is sent. The path has no host and is already encoded. */
export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bodyText?: string | undefined;
}

export interface HttpResponse {
  readonly status: number;
  /** The headers by lower-case name. A repeated header has Node's form. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Uint8Array;
}

/** Sends a request and waits for the whole response. Resolves for a response of any status. */
export interface HttpTransport {
  send(request: HttpRequest): Promise<HttpResponse>;
  close(): Promise<void>;
}

/** The address of a daemon: `http://…`, `https://…` or `unix:/path.sock`. */
export interface Address {
  readonly secure: boolean;
  readonly connection: { readonly host?: string; readonly port?: string; readonly socketPath?: string };
  /** The prefix of each path. Empty, or starts with a slash and ends without one. */
  readonly base: string;
  readonly hostHeader: string;
}

/**
 * Creates a transport for many requests, over a pool of persistent connections. It follows no redirect, because that
 * would forward the API key. `ca` holds the certificates to trust instead of Node's, as PEM text. Throws the fault
 * `usage` for an invalid URL; `send` rejects with `unreachable`.
 */
export function httpTransport(url: string, timeoutMs: number, ca?: string): HttpTransport {
  const { secure, connection, base, hostHeader } = parseAddress(url);
  const origin = `${secure ? 'https' : 'http'}://${hostHeader}`;
  const { socketPath } = connection;
  const open = loadedOnce(async (): Promise<Pool> => {
    // undici has only a default export in the CommonJS bundle.
    const { default: undici } = await import('undici');
    return new undici.Pool(origin, {
      ...NO_TIMEOUTS,
      allowH2: false,
      ...(socketPath && { socketPath }),
      connect: { ca, ...VERIFIED },
    });
  });

  return {
    async send({ method, path, headers, bodyText = null }) {
      const pool = await open();
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(new Error('timeout')), timeoutMs);
      try {
        const { signal } = late;
        const response = await pool.request({ method, path: `${base}${path}`, headers, body: bodyText, signal });
        const body = await response.body.bytes();
        // undici releases the connection only in the next tick. A request before that would open another connection.
        await endOfTick();
        return { status: response.statusCode, headers: response.headers, body };
      } catch (error) {
        throw unreachable(url, error, late.signal.aborted ? timeoutMs : undefined);
      } finally {
        clearTimeout(timer);
      }
    },
    async close() {
      await open.loaded?.destroy();
    },
  };
}

/**
 * Returns Node's error code for a failed request. undici's own errors and responses that are not HTTP get the code of a
 * similar error.
 */
function reasonOf(error: unknown): string {
  if (!isError(error) || !('code' in error)) return 'the connection was interrupted';
  error.code ??= 'HPE_INVALID_CONSTANT';
  return error.code === 'UND_ERR_SOCKET' ? 'ECONNRESET' : String(error.code);
}

/** Returns the address in a daemon's URL. Throws the fault `usage`. */
export function parseAddress(url: string): Address {
  if (url.startsWith('unix:')) {
    const socketPath = url.slice('unix:'.length).replace(/^\/\/(?=\/)/, '');
    if (socketPath === '') throw refusal();
    checkSocketPath('--url', socketPath);
    return { secure: false, connection: { socketPath }, base: '', hostHeader: 'localhost' };
  }
  const parsed = URL.parse(url);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) throw refusal();
  if (parsed.username + parsed.password + parsed.search + parsed.hash !== '') throw refusal();
  return {
    secure: parsed.protocol === 'https:',
    // Node expects an IPv6 host without its brackets.
    connection: {
      host: parsed.hostname.replace(/^\[(.*)\]$/, '$1'),
      ...(parsed.port !== '' && { port: parsed.port }),
    },
    base: parsed.pathname.replace(/\/+$/, ''),
    hostHeader: parsed.host,
  };
}

/** Returns the fault for an invalid URL. The message omits the URL, because it may contain a password. */
function refusal(): Fault {
  return new Fault('usage', '--url (VAULT_URL) must be http://host:port, https://host:port or unix:/path.sock');
}

/**
 * Returns the fault for a connection that failed or ended too early. `timeoutMs` is the timeout in milliseconds of a
 * request that it ended.
 */
export function unreachable(url: string, cause: unknown, timeoutMs: number | undefined): Fault {
  const why = timeoutMs === undefined ? reasonOf(cause) : `no answer within ${timeoutMs} ms`;
  return new Fault('unreachable', `cannot reach ${url}: ${why}`, {
    hint: HINTS.find(([pattern]) => pattern.test(why))?.[1],
    cause: timeoutMs === undefined ? cause : undefined,
  });
}

export function notAVault(url: string, what: string): Fault {
  return new Fault('unreachable', `the server at ${url} is not a vault${what}`, {
    hint: `${CHECK_URL}: another program listens at this address, or it needs https://`,
  });
}
