import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Reply } from '../contract/call.ts';
import { freeBytes } from '../core/bytes.ts';
import type { Quota } from '../core/quota.ts';
import { clearTimeout, nextTick, setTimeout } from '../core/timers.ts';
import { announcedLength } from './read-body.ts';

/** The parts of the header section that the reply itself does not determine. */
export interface ReplyHeaderOptions {
  /** The trace header's name in its original case. */
  readonly traceHeader: string;
  /** The length of the body in bytes. */
  readonly bytes: number;
  /** The value of `Allow`, for a 405. */
  readonly allow?: string | undefined;
  /** Further header fields, as names and values in turn. */
  readonly fields?: readonly string[];
  /** Closes the connection after this reply. */
  readonly close?: boolean;
}

/** The bytes of an unread body that are discarded to keep the connection; a longer body closes it. */
const MAX_DRAINED = 64 * 1024;

export interface WriteOptions extends ReplyHeaderOptions {
  /** The maximum length of a request's body, in bytes. */
  readonly bodyLimit: number;
  /** How long to read an unread body before the connection is closed, in milliseconds. */
  readonly linger: number;
  /** Where connections wait before their unread bodies are discarded, a few at a time. */
  readonly drains: Quota;
}

/** Sends the reply; does nothing if the client has gone. */
export function writeReply(response: ServerResponse, reply: Reply, options: WriteOptions): void {
  if (response.destroyed || response.writableEnded) return;
  const request = response.req;
  if (leavesBody(request, options.bodyLimit)) {
    writeAndLinger(request, response, reply, options);
    return;
  }
  const { bodyText } = reply;
  response.writeHead(reply.status, replyHeaders(reply, options));
  // For ASCII both encodings are the same bytes, and Node writes `latin1` without measuring the text again.
  response.end(bodyText ?? '', options.bytes === bodyText?.length ? 'latin1' : 'utf8');
}

/** Returns whether the request has a body that will stay unread, so that the connection cannot be reused. */
function leavesBody(request: IncomingMessage, limit: number): boolean {
  const length = announcedLength(request);
  // A body that is too large gets the same answer, whether it has arrived or not.
  if (length !== undefined && length > limit) return true;
  if (request.complete) return false;
  if (length === undefined || length > MAX_DRAINED || request.readableDidRead) return true;
  // RFC 9110 §10.1.1: without 100-continue the client may or may not send its body.
  return length > 0 && request.headers.expect !== undefined;
}

/**
 * Sends the reply at once, then discards what the client still sends for a moment before it closes the connection.
 * Closing with unread bytes would reset the connection, and the reset can overtake the reply (RFC 9112 §9.6).
 */
function writeAndLinger(request: IncomingMessage, response: ServerResponse, reply: Reply, options: WriteOptions): void {
  const { linger, drains } = options;
  response.writeHead(reply.status, replyHeaders(reply, { ...options, close: true }));
  if (reply.bodyText === undefined || request.method === 'HEAD') response.flushHeaders();
  else response.write(reply.bodyText);

  function end(): void {
    if (!response.destroyed && !response.writableEnded) response.end();
  }
  request.on('error', () => undefined);
  request.once('end', end);
  const arrived: Buffer | null = request.read();
  if (arrived !== null) freeBytes(arrived);
  nextTick(() => request.socket.pause());
  Promise.resolve(drains.take('', 1)).then(() => {
    if (response.destroyed) {
      drains.giveBack('', 1);
      return;
    }
    const timer = setTimeout(end, linger);
    response.once('close', () => {
      clearTimeout(timer);
      drains.giveBack('', 1);
    });
    request.on('data', freeBytes).resume();
    request.socket.resume();
  }, end);
}

/** Returns the header section as a flat list of names and values, which Node writes without building an object. */
export function replyHeaders(reply: Reply, { traceHeader, bytes, allow, fields, close }: ReplyHeaderOptions): string[] {
  const headers = ['Cache-Control', 'no-store', 'X-Content-Type-Options', 'nosniff', traceHeader, reply.traceId];
  if (reply.bodyText !== undefined) {
    const type = reply.status < 400 ? 'application/json' : 'application/problem+json';
    headers.push('Content-Type', type, 'Content-Length', String(bytes));
  }
  if (reply.retryAfter !== undefined) headers.push('Retry-After', String(reply.retryAfter));
  if (allow !== undefined) headers.push('Allow', allow);
  if (fields !== undefined) headers.push(...fields);
  if (close) headers.push('Connection', 'close');
  return headers;
}
