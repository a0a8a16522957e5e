import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { SentBody } from '../contract/call.ts';
import { Problem } from '../core/problem.ts';
import type { ByteBudget } from './byte-budget.ts';

const EMPTY: SentBody = {};
const TOO_LARGE: SentBody = { bodyFault: 'too_large' };
const NOT_UTF8: SentBody = { bodyFault: 'not_utf8' };

/** Returns the announced length of a body in bytes: 0 without a body, undefined for a chunked body (RFC 9112 §6.3). */
export function announcedLength(request: IncomingMessage): number | undefined {
  if (request.headers['transfer-encoding'] !== undefined) return undefined;
  const length = request.headers['content-length'];
  return length === undefined ? 0 : Number(length);
}

export interface ReadOptions {
  /** The maximum length of one body, in bytes. */
  readonly limit: number;
  /** Shared by all bodies of the daemon; a body holds its bytes until its response is sent. */
  readonly budget: ByteBudget;
}

/**
 * Returns the body as text, or as a fault if it is larger than `limit` or not UTF-8; the rest of a larger body stays
 * unread. Returns the body itself, not a promise, when it has already arrived. Throws `vault_busy` when the daemon
 * holds too many bodies, and `request_timeout` when the client leaves before the end. A byte order mark stays in the
 * text; the JSON parser rejects it (RFC 8259 §8.1).
 */
export function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  { limit, budget }: ReadOptions,
): SentBody | Promise<SentBody> {
  const length = announcedLength(request);
  if (length === 0) return EMPTY;
  if (length !== undefined && length > limit) return TOO_LARGE;
  if (request.headers.expect !== undefined) {
    response.writeContinue();
    // Mark the body as requested for `leavesBody` in write-reply.ts.
    request.headers.expect = undefined;
  }
  // A destroyed response emits no further 'close' event, so the bytes would never be released.
  if (response.destroyed) throw gone();
  let held = 0;
  response.once('close', () => budget.giveBack(held));

  function hold(bytes: number): boolean {
    if (!budget.take(bytes)) return false;
    held += bytes;
    return true;
  }

  if (!request.complete) return collect(request, limit, hold);
  if (request.readableLength > limit) return TOO_LARGE;
  // Reserve the bytes before reading them, so that the call may be repeated after an error.
  if (!hold(request.readableLength)) throw busy();
  const bytes: Buffer | null = request.read();
  return bytes === null ? EMPTY : textOf(bytes);
}

function busy(): Problem {
  return new Problem('vault_busy', { detail: 'The daemon is reading too many bodies; try again.' });
}

function gone(): Problem {
  return new Problem('request_timeout');
}

function textOf(bytes: Buffer): SentBody {
  return bytes.length === 0 ? EMPTY : isUtf8(bytes) ? { bodyText: bytes.toString('utf8') } : NOT_UTF8;
}

/** Reads a body that has not fully arrived. `hold` reserves bytes; it returns false when the daemon holds too many. */
function collect(request: IncomingMessage, limit: number, hold: (bytes: number) => boolean): Promise<SentBody> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;

    function settle(result: SentBody | Problem): void {
      request.off('data', onData).off('end', onEnd).off('close', onClose);
      if (result instanceof Problem) reject(result);
      else resolve(result);
    }
    function onData(chunk: Buffer): void {
      size += chunk.length;
      const isTooLarge = size > limit;
      if (!isTooLarge && hold(chunk.length)) {
        chunks.push(chunk);
        return;
      }
      request.pause();
      settle(isTooLarge ? TOO_LARGE : busy());
    }
    function onEnd(): void {
      const [first] = chunks;
      settle(textOf(first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks, size)));
    }
    function onClose(): void {
      settle(gone());
    }

    request.on('data', onData).on('end', onEnd).on('close', onClose);
    // A connection that breaks during the body emits 'close'; without a listener its 'error' would end the process.
    request.on('error', () => undefined);
  });
}
