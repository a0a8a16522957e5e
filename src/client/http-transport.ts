import type { IncomingMessage } from 'node:http';
import { errorCode, Fault } from '../core/fault.ts';
import { checkSocketPath } from '../core/socket-path.ts';
import { clearTimeout, setTimeout } from '../core/timers.ts';

const DEFAULT_TIMEOUT_MS = 30_000;
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

/** Sends requests and waits for whole responses. */
export type HttpTransport = ReturnType<typeof httpTransport>;

export interface TransportOptions {
  /** The URL of the daemon: `http://…`, `https://…` or `unix:/path.sock`. */
  readonly url: string;
  /** The timeout of one call in milliseconds. Default: 30,000. */
  readonly timeoutMs?: number;
  /** Whether each call closes its connection. */
  readonly oneShot?: boolean;
  /** The certificates to trust for `https://…` instead of Node's, as PEM text. */
  readonly ca?: string | undefined;
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
 * Creates a transport. It follows no redirect, because that would forward the API key. Throws the fault `usage` for an
 * invalid URL.
 */
export function httpTransport({ url, timeoutMs = DEFAULT_TIMEOUT_MS, oneShot = false, ca }: TransportOptions) {
  const { secure, connection, base, hostHeader } = parseAddress(url);
  // `import` would run all lazy getters of the module, and that of WebSocket loads 20 ms of Node's own code.
  const { Agent, request } = process.getBuiltinModule(secure ? 'node:https' : 'node:http');
  const agent = new Agent({ keepAlive: !oneShot });

  return {
    /**
     * Resolves to a response of any status. Rejects with the fault `unreachable`, and with the reason of the signal when
     * it aborts.
     */
    async send({ method, path, headers, bodyText }: HttpRequest, signal?: AbortSignal): Promise<HttpResponse> {
      signal?.throwIfAborted();
      const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
      const chunks: Buffer[] = [];
      const sent = request({
        ...connection,
        ca,
        // Requests contain an API key, so NODE_TLS_REJECT_UNAUTHORIZED has no effect.
        rejectUnauthorized: true,
        agent,
        method,
        path: `${base}${path}`,
        headers: { host: hostHeader, ...headers },
      });
      const stop = () => void sent.destroy();
      let isLate = false;
      const timer = setTimeout(() => {
        isLate = true;
        stop();
      }, timeoutMs);
      signal?.addEventListener('abort', stop);
      try {
        sent.on('response', (response) => {
          sent.off('close', reject);
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject).on('end', () => resolve(response));
        });
        // After a 101 response the request closes without an error.
        sent.on('error', reject).on('close', reject).end(bodyText);
        const { statusCode = 0, headers: received } = await promise;
        return { status: statusCode, headers: received, body: Buffer.concat(chunks) };
      } catch (error) {
        signal?.throwIfAborted();
        throw unreachable(url, error, isLate ? timeoutMs : undefined);
      } finally {
        clearTimeout(timer);
        signal?.removeEventListener('abort', stop);
        sent.destroy();
      }
    },
    /** Ends all connections, also those of running requests. */
    close: async () => agent.destroy(),
  };
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
function unreachable(url: string, cause: unknown, timeoutMs: number | undefined): Fault {
  const reason = errorCode(cause) ?? 'the connection was interrupted';
  const why = timeoutMs === undefined ? reason : `no answer within ${timeoutMs} ms`;
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
