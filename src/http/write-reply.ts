import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Reply } from '../contract/call.ts';
import { announcedLength } from './read-body.ts';

/** The parts of a header section beside the reply. */
export interface ReplyHeaderOptions {
  /** The trace header's name, as it is written. */
  readonly traceHeader: string;
  /** The methods of a 405. */
  readonly allow?: string | undefined;
  /** Further fields, names and values in turn. */
  readonly fields?: readonly string[];
  /** The connection ends with this reply. */
  readonly close?: boolean;
}

/** Bytes of an unread body that are read away to keep the connection; a longer one ends it. */
const MAX_DRAINED = 64 * 1024;

export interface WriteOptions extends ReplyHeaderOptions {
  /** Bytes of a body. */
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

/** Returns whether the request has a body that will not be read to its end: the connection cannot be used again. */
function leavesBody(request: IncomingMessage, limit: number): boolean {
  const length = announcedLength(request);
  // Whether or not it has arrived by now: who sends too much learns the same each time.
  if (length !== undefined && length > limit) return true;
  if (request.complete) return false;
  if (length === undefined || length > MAX_DRAINED || request.readableDidRead) return true;
  // RFC 9110 §10.1.1: without 100-continue a client may send its body, or may not.
  return length > 0 && request.headers.expect !== undefined;
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

/** The header section as a flat list of names and values, the form that Node writes without making an object of it first. */
export function replyHeaders(reply: Reply, options: ReplyHeaderOptions): string[] {
  const headers = [
    'Cache-Control',
    'no-store',
    'X-Content-Type-Options',
    'nosniff',
    options.traceHeader,
    reply.traceId,
  ];
  if (reply.bodyText !== undefined) {
    headers.push(
      'Content-Type',
      reply.status < 400 ? 'application/json' : 'application/problem+json',
      'Content-Length',
      String(Buffer.byteLength(reply.bodyText)),
    );
  }
  if (reply.retryAfter !== undefined) headers.push('Retry-After', String(reply.retryAfter));
  if (options.allow !== undefined) headers.push('Allow', options.allow);
  if (options.fields !== undefined) headers.push(...options.fields);
  if (options.close) headers.push('Connection', 'close');
  return headers;
}
