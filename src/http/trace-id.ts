import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const TRACE_ID = /^[\x20-\x7e]{1,200}$/;

/**
 * The request's trace id: its header's value when that is printable ASCII of at most 200 characters, else a new one, put
 * in the header's place so that whoever asks again gets the same. `header` is in lower case.
 */
export function traceIdOf(request: IncomingMessage, header: string): string {
  const sent = request.headers[header];
  if (typeof sent === 'string' && TRACE_ID.test(sent)) return sent;
  const made = randomUUID();
  request.headers[header] = made;
  return made;
}
