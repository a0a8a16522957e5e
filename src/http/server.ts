import type { Server } from 'node:http';
import type { Limits } from '../contract/limits.ts';
import type { Timeouts } from './timeouts.ts';

/** For the version and the spaces of the request line, which Node counts as header bytes. */
const REQUEST_LINE_SLACK = 64;

export interface ServerOptions {
  readonly limits: Limits;
  readonly timeouts: Timeouts;
  /** PEM texts. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
}

/** A server of node:http or node:https with the daemon's limits, on no address yet. */
export async function createServer({ limits, timeouts, tls }: ServerOptions): Promise<Server> {
  const options = {
    // URL and headers have limits of their own (screen-request.ts); this one only keeps Node from reading on for ever.
    maxHeaderSize: limits.url + limits.headers + REQUEST_LINE_SLACK,
    headersTimeout: timeouts.headers,
    requestTimeout: timeouts.request,
    connectionsCheckingInterval: timeouts.check,
    keepAliveTimeout: timeouts.keepAlive,
    // Node's own answer to a missing Host has no body.
    requireHostHeader: false,
    insecureHTTPParser: false,
  };
  const server: Server = tls
    ? (await import('node:https')).createServer({
        ...options,
        ...tls,
        minVersion: 'TLSv1.2',
        // The limits above begin with HTTP; Node's own for what comes before it is two minutes.
        handshakeTimeout: timeouts.headers,
      })
    : (await import('node:http')).createServer(options);
  server.timeout = timeouts.stalled;
  // The size is limited; a limit of the count would drop what comes after it without a word, a second Host for one.
  server.maxHeadersCount = 0;
  // A client may close its sending side once its request is out (`printf … | nc`); it still gets the reply.
  Object.assign(server, { httpAllowHalfOpen: true });
  return server;
}
