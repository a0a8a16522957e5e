import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Call } from '../contract/call.ts';

/** A request's body as a `Call` carries it; `aborted` when the client went away before its end. */
export type Body = Pick<Call, 'bodyText' | 'bodyFault'> | 'aborted';

const EMPTY: Body = {};
const TOO_LARGE: Body = { bodyFault: 'too_large' };
const NOT_UTF8: Body = { bodyFault: 'not_utf8' };

/** The announced length in bytes; undefined for a chunked body, 0 for none (RFC 9112 §6.3). */
export function announcedLength(request: IncomingMessage): number | undefined {
  if (request.headers['transfer-encoding'] !== undefined) return undefined;
  const length = request.headers['content-length'];
  return length === undefined ? 0 : Number(length);
}

/**
 * Reads the body as text, and no further than `limit` bytes: of a larger one the rest stays unread, so that the dispatcher
 * can answer 401 and 403 before 413. A byte order mark stays in the text, where the JSON parser refuses it (RFC 8259 §8.1).
 */
export function readBody(request: IncomingMessage, response: ServerResponse, limit: number): Body | Promise<Body> {
  const length = announcedLength(request);
  if (length === 0) return EMPTY;
  if (length !== undefined && length > limit) return TOO_LARGE;
  if (request.headers.expect !== undefined) {
    response.writeContinue();
    // Marks the body as asked for: see `leavesBody` in write-reply.ts.
    request.headers.expect = undefined;
  }
  return collect(request, limit);
}

function collect(request: IncomingMessage, limit: number): Promise<Body> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;

    function settle(body: Body): void {
      request.off('data', onData).off('end', onEnd).off('close', onClose);
      resolve(body);
    }
    function onData(chunk: Buffer): void {
      size += chunk.length;
      if (size <= limit) {
        chunks.push(chunk);
        return;
      }
      request.pause();
      settle(TOO_LARGE);
    }
    function onEnd(): void {
      const [first] = chunks;
      const bytes = first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks, size);
      settle(size === 0 ? EMPTY : isUtf8(bytes) ? { bodyText: bytes.toString('utf8') } : NOT_UTF8);
    }
    function onClose(): void {
      settle('aborted');
    }

    request.on('data', onData).on('end', onEnd).on('close', onClose);
    // A connection that breaks inside the body is told by 'close'; without a listener its 'error' would end the process.
    request.on('error', () => undefined);
  });
}
