import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Reply } from '../contract/call.ts';
import { announcedLength } from './read-body.ts';
import { type ReplyHeaderOptions, replyHeaders } from './reply-headers.ts';

export interface WriteOptions extends ReplyHeaderOptions {
  /** Bytes: how long an unread body may be that is still read away to keep the connection. */
  readonly bodyLimit: number;
  /** Milliseconds. */
  readonly linger: number;
}

/** Sends the reply; a client that is already gone gets nothing. */
export function writeReply(response: ServerResponse, reply: Reply, options: WriteOptions): void {
  if (response.destroyed || response.writableEnded) return;
  const request = response.req;
  if (leavesBody(request, options.bodyLimit)) {
    writeAndLinger(request, response, reply, options);
    return;
  }
  response.writeHead(reply.status, replyHeaders(reply, options));
  response.end(reply.bodyText);
}

/** Whether the request has a body that nobody will read to its end: the connection cannot be used again. */
function leavesBody(request: IncomingMessage, limit: number): boolean {
  const length = announcedLength(request);
  // Whether or not it has arrived by now: who sends too much learns the same each time.
  if (length !== undefined && length > limit) return true;
  if (request.complete) return false;
  // RFC 9110 §10.1.1: a client that was not told to continue may send its body, or may not.
  return length === undefined || (length > 0 && request.headers.expect !== undefined);
}

/**
 * The reply goes out at once; then what the client still sends is read away for a moment before the connection closes.
 * Closing with unread bytes would reset the connection, and the reset can overtake the reply (RFC 9112 §9.6).
 */
function writeAndLinger(request: IncomingMessage, response: ServerResponse, reply: Reply, options: WriteOptions): void {
  response.writeHead(reply.status, replyHeaders(reply, { ...options, close: true }));
  if (reply.bodyText === undefined || request.method === 'HEAD') response.flushHeaders();
  else response.write(reply.bodyText);

  const timer = setTimeout(end, options.linger);
  function end(): void {
    clearTimeout(timer);
    if (!response.destroyed && !response.writableEnded) response.end();
  }
  request.on('error', () => undefined);
  request.once('end', end);
  response.once('close', () => clearTimeout(timer));
  request.resume();
}
