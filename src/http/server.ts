import { once } from 'node:events';
import { readFileSync, readlinkSync } from 'node:fs';
import { createServer as createHttpServer, type Server } from 'node:http';
import type { ListenOptions, Socket } from 'node:net';
import type { Server as TlsServer } from 'node:tls';
import { Fault } from '../core/fault.ts';
import { clearInterval, clearTimeout, setInterval, setTimeout } from '../core/timers.ts';
import type { DaemonOptions, Timeouts } from './daemon-options.ts';

/** The bytes for the version and the spaces of the request line, which Node counts as header bytes. */
const REQUEST_LINE_SLACK = 64;
/** The interval of closing idle connections while stopping, in milliseconds. */
const SWEEP_MS = 50;

/** Creates a server of node:http or node:https with the daemon's limits. It does not listen yet. */
export async function createServer({ limits, tls }: DaemonOptions, timeouts: Timeouts): Promise<Server> {
  const options = {
    // URL and headers have their own limits (screen-request.ts); this one only stops an endless header.
    maxHeaderSize: limits.url + limits.headers + REQUEST_LINE_SLACK,
    headersTimeout: timeouts.headers,
    requestTimeout: timeouts.request,
    connectionsCheckingInterval: timeouts.check,
    keepAliveTimeout: timeouts.keepAlive,
    // Otherwise Node itself would answer a missing Host, without a body.
    requireHostHeader: false,
    insecureHTTPParser: false,
  };
  const server: Server = tls
    ? (await import('node:https')).createServer({
        ...options,
        ...secureContext(tls),
        // The limits above apply from the first byte of HTTP; Node's own limit before that is two minutes.
        handshakeTimeout: timeouts.headers,
      })
    : createHttpServer(options);
  server.timeout = timeouts.stalled;
  // Limits the size instead: a limited count would silently drop later headers, such as a second Host.
  server.maxHeadersCount = 0;
  // A client may close its sending side after its request (`printf … | nc`); it still gets the reply.
  Object.assign(server, { httpAllowHalfOpen: true });
  return server;
}

const secureContext = (tls: NonNullable<DaemonOptions['tls']>) => ({ ...tls, minVersion: 'TLSv1.2' }) as const;

/**
 * Makes an HTTPS server use another certificate for new connections. Open connections keep theirs. Throws if the
 * certificate and the key do not belong together; the server then keeps its certificate.
 */
export function useCertificate(
  server: Server & Partial<Pick<TlsServer, 'setSecureContext'>>,
  tls: NonNullable<DaemonOptions['tls']>,
): void {
  server.setSecureContext?.(secureContext(tls));
}

/**
 * Listens on a port; the system chooses one if `port` is 0. Resolves to it and to the address. Rejects with the fault
 * `usage` or `address_in_use`. `inUse` is the hint for a port in use; by default, the hint names --port.
 */
export async function listenOnPort(
  server: Server,
  host: string,
  port: number,
  inUse?: string,
): Promise<{ readonly address: string; readonly port: number }> {
  await listen(server, { host, port }, `port ${port} on ${host}`, { inUse });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('unreachable: a port has an address');
  return { address: address.address, port: address.port };
}

/** Listens on a socket that systemd has bound. Resolves to its address, or to the path of a Unix socket. */
export async function listenOnPassed(
  server: Server,
  fd: number,
): Promise<{ readonly host: string; readonly port: number } | { readonly socket: string }> {
  const hint = 'write ListenStream= and no Accept= into the socket unit';
  await listen(server, { fd }, 'the systemd socket', { hint });
  const address = server.address();
  if (address === null || typeof address === 'string') return { socket: pathOfSocket(fd) };
  return { host: address.address, port: address.port };
}

/**
 * Listens, and resolves when the server is ready. Starts to listen before it returns. Rejects with the fault
 * `address_in_use` or `usage`.
 */
export async function listen(
  server: Server,
  options: ListenOptions | { readonly fd: number },
  address: string,
  { hint, inUse }: { readonly hint?: string; readonly inUse?: string | undefined } = {},
): Promise<void> {
  server.listen(options);
  try {
    await once(server, 'listening');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE') throw new Fault('address_in_use', `${address} is in use`, { hint: inUse, cause });
    throw new Fault('usage', `cannot listen on ${address} (${code})`, { hint, cause });
  }
}

/**
 * Returns a function that stops the server and calls `endWaits`. Call `createStop` before the server listens, so that
 * it knows every connection.
 */
export function createStop(server: Server, graceMs: number, endWaits?: () => void): () => Promise<void> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });

  /** Stops accepting, closes idle connections, waits at most `graceMs` for the others, then cuts them. */
  return () =>
    new Promise((resolve) => {
      endWaits?.();
      const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
      const cut = setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, graceMs);
      server.close(() => {
        clearInterval(sweep);
        clearTimeout(cut);
        resolve();
      });
      // Node does not count a connection without a first byte as idle: it waits for the headers.
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
    });
}

const FIRST_FD = 3;

/**
 * Returns the file descriptor of the socket that systemd has passed to this process (sd_listen_fds(3)); undefined
 * without one. Throws the fault `usage` for several sockets.
 */
export function passedSocket(env: Readonly<Record<string, string | undefined>>, pid: number = process.pid) {
  const { LISTEN_PID, LISTEN_FDS } = env;
  if (LISTEN_PID !== String(pid) || LISTEN_FDS === undefined || LISTEN_FDS === '0') return undefined;
  if (LISTEN_FDS === '1') return FIRST_FD;
  throw new Fault('usage', `systemd passed ${LISTEN_FDS} sockets (LISTEN_FDS), but the daemon listens on one`, {
    hint: 'write one ListenStream= into the socket unit',
  });
}

/** Returns the path of a Unix socket that another process has bound. Linux only, as systemd is. */
function pathOfSocket(fd: number): string {
  const [, inode = ''] = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`)) ?? [];
  const lines = readFileSync('/proc/self/net/unix', 'utf8').split('\n');
  // A path may contain blanks.
  const found = lines.map((line) => /^(?:\S+ +){6}(\d+) (.+)$/.exec(line)).find((match) => match?.[1] === inode);
  return found?.[2] ?? '';
}
