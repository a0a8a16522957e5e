import { randomUUID } from 'node:crypto';
import { METHODS, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Reply } from '../contract/call.ts';
import type { ProblemCode } from '../contract/problems.ts';
import { Problem, problemReply } from '../core/problem.ts';
import { clearTimeout, MachineDate, setTimeout, wallTime } from '../core/timers.ts';
import { ALL_METHODS, allowedMethods } from './routes.ts';
import { replyHeaders } from './write-reply.ts';

const CODES: ReadonlyMap<string, ProblemCode> = new Map([
  ['HPE_HEADER_OVERFLOW', 'headers_too_large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', 'request_timeout'],
]);

/** A well-formed request line with any method. */
const REQUEST_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}) (\/[\x21\x22\x24-\x7e]*) HTTP\/1\.[01]\r\n/;
const KNOWN_METHODS: ReadonlySet<string> = new Set(METHODS);

/** Node's report on a connection whose bytes are not a valid request. */
interface ConnectionError extends Error {
  readonly code?: string;
  readonly rawPacket?: unknown;
}

interface RefusalOptions {
  readonly traceHeader: string;
  readonly urlLimit: number;
  /** How long to read from a client that keeps sending after a rejection, in milliseconds. */
  readonly linger: number;
  /** Returns the response to the newest request on the connection. */
  readonly current: (socket: Duplex) => ServerResponse | undefined;
  readonly onRefused: (reply: Reply, socket: Duplex) => void;
}

/**
 * Creates the handlers for connections whose bytes are not a valid request. They answer on the socket itself and then
 * close the connection.
 */
export function createRawRefusal({ traceHeader, urlLimit, linger, current, onRefused }: RefusalOptions) {
  // Node reports the same broken connection again for every further packet.
  const refused = new WeakSet<Duplex>();

  function refuse(socket: Duplex, code: ProblemCode, allow?: string): void {
    const reply = problemReply(new Problem(code), randomUUID());
    onRefused(reply, socket);
    const bytes = Buffer.byteLength(reply.bodyText ?? '');
    const fields = replyHeaders(reply, { traceHeader, bytes, allow, close: true });
    const lines = [
      `HTTP/1.1 ${reply.status} ${STATUS_CODES[reply.status]}`,
      `Date: ${new MachineDate(wallTime()).toUTCString()}`,
    ];
    for (let i = 0; i < fields.length; i += 2) lines.push(`${fields[i]}: ${fields[i + 1]}`);
    endSoon(socket, code === 'request_timeout' ? 0 : linger, `${lines.join('\r\n')}\r\n\r\n${reply.bodyText}`);
  }

  return {
    clientError(error: ConnectionError, socket: Duplex): void {
      if (refused.has(socket)) return;
      refused.add(socket);
      const [code, allow] = diagnose(error, urlLimit);
      const response = current(socket);
      if (error.code === 'ECONNRESET' || !socket.writable || isSilent(socket)) socket.destroy();
      else if (response === undefined || response.writableFinished) refuse(socket, code, allow);
      else if (response.req.complete) {
        // With pipelining, the faulty bytes follow a request that is still in progress. Answer that request first.
        response.once('finish', () => (socket.writable ? refuse(socket, code, allow) : socket.destroy()));
      } else if (response.headersSent) {
        // Node corks its writes until the next tick; destroying the socket now would lose the reply.
        endSoon(socket, linger);
      } else if (response.socket === null) socket.destroy();
      else refuse(socket, code, allow);
    },
    /** Rejects a CONNECT request, for which Node creates no response object. */
    connect(socket: Duplex): void {
      socket.on('error', () => undefined);
      refuse(socket, 'method_not_allowed', ALL_METHODS);
    },
  };
}

/** Writes `text` and closes the connection, after `linger` milliseconds at the latest. */
function endSoon(socket: Duplex, linger: number, text = ''): void {
  const timer = setTimeout(() => socket.destroy(), linger);
  socket.once('close', () => clearTimeout(timer));
  socket.once('end', () => socket.destroy());
  socket.end(text);
}

/**
 * Returns whether the client has sent nothing, as on a browser's spare connection. Such a connection gets no answer.
 */
function isSilent(socket: Duplex): boolean {
  return 'bytesRead' in socket && socket.bytesRead === 0;
}

function diagnose(error: ConnectionError, urlLimit: number): readonly [code: ProblemCode, allow?: string] {
  const code = CODES.get(error.code ?? '') ?? 'malformed_http';
  if (!Buffer.isBuffer(error.rawPacket)) return [code];
  const packet = error.rawPacket.toString('latin1', 0, urlLimit + 128);
  if (error.code === 'HPE_HEADER_OVERFLOW') {
    // Node counts the request line as a header, so a first line above the limit means a long URL.
    return /^[A-Z]{3,12} (?:https?:\/)?\/[^\r\n]*$/.test(packet) ? ['url_too_long'] : [code];
  }
  if (error.code !== 'HPE_INVALID_METHOD') return [code];
  const [, method, target] = REQUEST_LINE.exec(packet) ?? [];
  if (method === undefined || target === undefined || KNOWN_METHODS.has(method)) return [code];
  const allow = allowedMethods(target);
  return allow === undefined ? ['route_not_found'] : ['method_not_allowed', allow];
}
