import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const TRACE_ID = /^[\x20-\x7e]{1,200}$/;
/**
 * VERSION-TRACE-PARENT-FLAGS (W3C Trace Context, §3.2). Ids of zeros and version ff are invalid. Versions after 00 may
 * be longer.
 */
const TRACEPARENT = /^(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/;

/**
 * Returns the request's trace id: its header's value if that is printable ASCII of at most 200 characters, else the
 * trace of a valid `traceparent`, else a new one. Stores it in the header, so that later calls return the same id.
 * `header` is in lower case.
 */
export function traceIdOf({ headers }: IncomingMessage, header: string): string {
  const sent = headers[header];
  if (typeof sent === 'string' && TRACE_ID.test(sent)) return sent;
  const { traceparent } = headers;
  const made = (typeof traceparent === 'string' && TRACEPARENT.exec(traceparent)?.[1]) || randomUUID();
  headers[header] = made;
  return made;
}
