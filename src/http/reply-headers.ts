import type { Reply } from '../contract/call.ts';

/** What a reply's header section needs to know beyond the reply. */
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
