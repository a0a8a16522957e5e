import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { resolve } from 'node:path';
import type { Duplex } from 'node:stream';
import type { Client, Reply } from '../contract/call.ts';
import { loadedOnce } from '../core/loaded-once.ts';
import { Problem, problemReply } from '../core/problem.ts';
import { createQuota } from '../core/quota.ts';
import { noteArrival } from '../core/slices.ts';
import { fitsSocket } from '../core/socket-path.ts';
import { runningTime } from '../core/timers.ts';
import { noteClients, peerOf } from './connected-clients.ts';
import { createCors } from './cors.ts';
import { checkDaemonOptions, type DaemonOptions, DEFAULT_TIMEOUTS } from './daemon-options.ts';
import { type AnswerOptions, createEndpoints } from './endpoints.ts';
import { createHostCheck, hostOf, urlHost } from './own-hosts.ts';
import { listenOnSocket } from './own-socket.ts';
import { createRawRefusal } from './raw-refusal.ts';
import { type Answered, failureReply, logRequest, requestRecord, tookOf } from './request-log.ts';
import { OWN_PATHS } from './routes.ts';
import { createScreen } from './screen-request.ts';
import { createServer, createStop, listenOnPassed, listenOnPort, useCertificate } from './server.ts';
import { takeTurns } from './take-turns.ts';
import { writeReply } from './write-reply.ts';

/** The number of connections whose unread bodies are discarded at a time. */
const MAX_DRAINS = 8;
const CONSOLE_PATH = /^\/ui(?:[/?]|$)/;
const TO_CONSOLE: AnswerOptions = { fields: ['Location', '/ui/', 'Content-Length', '0'] };

const TRACE_ID = /^[\x20-\x7e]{1,200}$/;
/**
 * VERSION-TRACE-PARENT-FLAGS (W3C Trace Context, §3.2). Ids of zeros and version ff are invalid. Versions after 00 may
 * be longer.
 */
const TRACEPARENT = /^(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/;

export interface Daemon {
  /** The daemon's address, such as `http://127.0.0.1:8484` or `unix:/path.sock`. */
  readonly url: string;
  readonly port?: number;
  /**
   * Uses another certificate for new HTTPS connections. Throws, and keeps the old one, if the certificate and the key
   * do not match.
   */
  useCertificate(tls: NonNullable<DaemonOptions['tls']>): void;
  /** Stops accepting connections, lets open requests finish, and resolves within 10 s. Does not close the client. */
  stop(): Promise<void>;
}

/**
 * Starts a daemon that serves `client` over HTTP. The daemon only converts requests to calls and replies to responses;
 * all other decisions belong to the vault. Rejects with the faults `address_in_use` and `usage`.
 */
export async function startDaemon(client: Client, options: DaemonOptions): Promise<Daemon> {
  checkDaemonOptions(options);
  const { limits, headerPrefix, tls, corsOrigins = [], meter } = options;
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
  const { linger } = timeouts;
  const { body: bodyLimit } = limits;
  const traceHeader = `${headerPrefix}-TRACE-ID`;
  /** RFC 9110 §11.6.1: a 401 names what the daemon expects. */
  const challenge = ['WWW-Authenticate', `ApiKey header="${headerPrefix}-API-KEY"`];
  const replayedHeader = `${headerPrefix}-IDEMPOTENT-REPLAYED`;
  const lowerPrefix = headerPrefix.toLowerCase();
  const [keyHeader, idempotencyHeader] = [`${lowerPrefix}-api-key`, `${lowerPrefix}-idempotency-key`];
  const lowerTraceHeader = traceHeader.toLowerCase();
  /**
   * Returns the request's trace id: its header's value if that is printable ASCII of at most 200 characters, else the
   * trace of a valid `traceparent`, else a new one. Stores it in the header, so that later calls return the same id.
   */
  function traceIdOf({ headers }: IncomingMessage): string {
    const sent = headers[lowerTraceHeader];
    if (typeof sent === 'string' && TRACE_ID.test(sent)) return sent;
    const { traceparent } = headers;
    const made = (typeof traceparent === 'string' && TRACEPARENT.exec(traceparent)?.[1]) || randomUUID();
    headers[lowerTraceHeader] = made;
    return made;
  }
  const cors = createCors(corsOrigins, headerPrefix);
  /** The start of the current request of each connection. A connection has one request at a time. */
  const starts = new WeakMap<Duplex, number>();
  const drains = createQuota({ each: MAX_DRAINS, all: MAX_DRAINS });
  let stopping = false;
  let isOwnHost: (host: string) => boolean = () => false;

  const server = await createServer(options, timeouts);
  if (options.maxConnections !== undefined) server.maxConnections = options.maxConnections;
  if (options.background) server.unref().on('connection', (socket: Socket) => socket.unref());
  meter?.watchServer(server);
  let removeSocket: (() => void) | undefined;
  const stopServer = createStop(server, timeouts.stop, () => {
    removeSocket?.();
    client.endWaits?.();
    dev?.end();
  });
  const screen = createScreen({
    limits,
    keyHeader,
    isOwnHost: (host) => isOwnHost(host),
    takesHostNames: !options.isConsoleOnly,
  });
  const isForeign = ({ headers }: IncomingMessage) => !isOwnHost(hostOf(headers.host ?? '') ?? '');

  function answer(response: ServerResponse, reply: Reply, more: AnswerOptions = {}): void {
    const bytes = Buffer.byteLength(reply.bodyText ?? '');
    if (reply.sent !== undefined) {
      // A destroyed response emits no further 'close' event.
      if (response.destroyed) reply.sent();
      else response.once('close', reply.sent);
    }
    const { route, operation, applicationId, allow } = more;
    const { req } = response;
    const fields = [
      ...cors.fields(req),
      ...(more.fields ?? []),
      ...(reply.replayed ? [replayedHeader, 'true'] : []),
      ...(reply.status === 401 ? challenge : []),
    ];
    writeReply(response, reply, { traceHeader, bytes, allow, fields, close: stopping, bodyLimit, linger, drains });
    if (more.isUnlogged) return;
    const { method, socket } = req;
    const peer = peerOf(socket).address || undefined;
    note(reply, { method, route, operation, applicationId, peer, start: starts.get(socket), bytes }, req);
  }

  function note(reply: Reply, answered: Answered, request?: IncomingMessage): void {
    meter?.answered(answered.operation, reply.status, tookOf(answered.start));
    if (options.log === false && dev === undefined) return;
    const record = requestRecord(reply, answered);
    if (options.log !== false) logRequest(options.log, record, reply, answered);
    dev?.note(record, reply, request);
  }

  const refusal = createRawRefusal({
    traceHeader,
    urlLimit: limits.url,
    linger,
    current: (socket) => turns.newest(socket),
    onRefused: (reply, socket) =>
      note(reply, { peer: peerOf(socket).address || undefined, bytes: Buffer.byteLength(reply.bodyText ?? '') }),
  });
  server.on('clientError', refusal.clientError);
  const context = { keyHeader, traceIdOf, answer };
  const dispatch = createEndpoints(client, { options, cors, isForeign, idempotencyHeader, ...context });
  const { dev: controls } = options;
  const dev =
    controls &&
    (await import('./dev-requests.ts')).createDevRequests({
      controls,
      client,
      isFromBrowser: cors.isFromBrowser,
      ...context,
    });

  const loadConsole = loadedOnce(async () =>
    options.console?.({ ...context, options, isForeign, sendToDev: dev?.ask }),
  );
  if (options.isConsoleOnly) loadConsole().catch(() => undefined); // A request loads it again.
  function showConsole(request: IncomingMessage, response: ServerResponse, refused: Problem | undefined): void {
    loadConsole().then(
      (handle) => handle?.(request, response, refused),
      (error: unknown) => answer(response, failureReply(error, traceIdOf(request))),
    );
  }

  function receive(request: IncomingMessage, response: ServerResponse): void {
    if (options.log !== false || dev !== undefined || meter !== undefined) starts.set(request.socket, runningTime());
    const refused =
      screen(request) ?? (stopping && request.url !== OWN_PATHS.livez ? new Problem('vault_stopping') : undefined);
    if (options.console !== undefined && CONSOLE_PATH.test(request.url ?? '')) showConsole(request, response, refused);
    else if (refused !== undefined) answer(response, problemReply(refused, traceIdOf(request)));
    else if (options.console !== undefined && isBrowserAtRoot(request))
      answer(response, { status: 302, traceId: traceIdOf(request) }, TO_CONSOLE);
    else if (options.isConsoleOnly) answer(response, problemReply(new Problem('route_not_found'), traceIdOf(request)));
    else if (dev === undefined) dispatch(request, response);
    else dev.take(request, response, () => dispatch(request, response));
  }
  // Requests with `Expect` are received like any other; `readBody` answers `100-continue`.
  const turns = takeTurns(receive);
  const connection = tls === undefined ? 'connection' : 'secureConnection';
  noteClients(server, connection);
  server.on('connection', noteArrival);
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, turns.receive);
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => refusal.connect(socket));

  const { host, address, port, socket = '', remove } = await listenAt(server, options);
  removeSocket = remove;
  isOwnHost = createHostCheck({ ...options, host });

  let stopped: Promise<void> | undefined;
  function stop(): Promise<void> {
    stopping = true;
    stopped ??= stopServer();
    return stopped;
  }
  const actions = { stop, useCertificate: (next: NonNullable<typeof tls>) => useCertificate(server, next) };
  if (port === undefined) return { url: `unix:${fitsSocket(resolve(socket)) ? resolve(socket) : socket}`, ...actions };
  return { url: `${tls === undefined ? 'http' : 'https'}://${urlHost(host, address)}:${port}`, port, ...actions };
}

interface Listening {
  readonly host: string;
  readonly address?: string;
  readonly port?: number;
  readonly socket?: string;
  /** Removes the socket. Absent for a socket that another process created. */
  readonly remove?: () => void;
}

/**
 * Listens at the address in the options. Resolves to the port, its host and its address, or to the path of the socket.
 */
async function listenAt(server: Server, options: DaemonOptions): Promise<Listening> {
  const { host, passed, socket } = options;
  if (passed !== undefined) {
    const listening = { host, ...(await listenOnPassed(server, passed)) };
    try {
      // The daemon answers no request yet, so nothing was exposed.
      checkDaemonOptions({ ...options, passed: undefined, ...listening });
      return listening;
    } catch (error) {
      server.close();
      throw error;
    }
  }
  if (socket === undefined) return { host, ...(await listenOnPort(server, host, options.port)) };
  return { host, socket, remove: await listenOnSocket(server, socket) };
}

function isBrowserAtRoot({ method, url, headers }: IncomingMessage): boolean {
  return method === 'GET' && url === '/' && /\btext\/html\b/.test(headers.accept ?? '');
}
