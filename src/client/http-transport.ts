import type { Agent, ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { Fault } from '../core/fault.ts';
import { unreachable } from './unreachable.ts';

/** What goes over the wire. The path holds no host and is already encoded. */
export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bodyText?: string | undefined;
}

export interface HttpResponse {
  readonly status: number;
  /** Lower-case names; of a repeated header what Node makes of it. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Uint8Array;
}

/** Sends one request and waits for the whole response. A response of any status is a success here. */
export interface HttpTransport {
  send(request: HttpRequest): Promise<HttpResponse>;
  close(): Promise<void>;
}

/** Where a daemon listens: `http://…`, `https://…` or `unix:/path.sock`. */
interface Address {
  readonly secure: boolean;
  readonly connection: Pick<RequestOptions, 'host' | 'port' | 'socketPath'>;
  /** Stands before each path; empty or beginning with a slash, without one at its end. */
  readonly base: string;
  readonly hostHeader: string;
}

/**
 * The transport over Node's own client: the fastest from a fresh process, and it keeps its connections. No redirect is
 * followed: the API key would go with it. Throws the faults `usage` (the URL) and `unreachable`.
 */
export function httpTransport(url: string, timeoutMs: number): HttpTransport {
  const address = parseAddress(url);
  let agent: Agent | undefined;
  return {
    async send(request) {
      const { Agent, request: open } = address.secure ? await import('node:https') : await import('node:http');
      agent ??= new Agent({ keepAlive: true });
      const headers = { host: address.hostHeader, ...request.headers };
      const { method, path } = request;
      // Without a name Node looks for one, with an expression for IPv6 that takes it milliseconds to compile.
      const servername = address.secure ? undefined : '';
      const options = { ...address.connection, servername, agent, method, path: `${address.base}${path}`, headers };
      return exchange(open(options), request.bodyText, url, timeoutMs);
    },
    async close() {
      agent?.destroy();
    },
  };
}

function exchange(
  outgoing: ClientRequest,
  bodyText: string | undefined,
  url: string,
  timeoutMs: number,
): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => outgoing.destroy(new Error('timeout')), timeoutMs);
    const fail = (error: NodeJS.ErrnoException): void => {
      clearTimeout(timer);
      const why =
        error.message === 'timeout' ? `no answer within ${timeoutMs} ms` : (error.code ?? 'the connection broke');
      reject(unreachable(url, why, error));
    };
    outgoing.on('error', fail);
    outgoing.on('response', (incoming: IncomingMessage) => {
      const chunks: Uint8Array[] = [];
      incoming.on('data', (chunk: Uint8Array) => chunks.push(chunk));
      incoming.on('error', fail);
      incoming.on('end', () => {
        clearTimeout(timer);
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: Buffer.concat(chunks) });
      });
    });
    outgoing.end(bodyText);
  });
}

/** Takes a daemon's URL apart. Throws the fault `usage`. */
export function parseAddress(url: string): Address {
  if (url.startsWith('unix:')) {
    const socketPath = url.slice('unix:'.length).replace(/^\/\/(?=\/)/, '');
    if (socketPath === '') throw refusal();
    return { secure: false, connection: { socketPath }, base: '', hostHeader: 'localhost' };
  }
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const known = parsed?.protocol === 'http:' || parsed?.protocol === 'https:';
  if (
    parsed === undefined ||
    !known ||
    parsed.username !== '' ||
    parsed.password !== '' ||
    parsed.search !== '' ||
    parsed.hash !== ''
  ) {
    throw refusal();
  }
  return {
    secure: parsed.protocol === 'https:',
    // Node wants the address of an IPv6 host without its brackets.
    connection: {
      host: parsed.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: parsed.port === '' ? undefined : parsed.port,
    },
    base: parsed.pathname.replace(/\/+$/, ''),
    hostHeader: parsed.host,
  };
}

/** Without the URL in it: a password may stand there. */
function refusal(): Fault {
  return new Fault('usage', '--url (VAULT_URL) is http://host:port, https://host:port or unix:/path.sock');
}
