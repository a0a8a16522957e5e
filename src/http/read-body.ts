import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { SentBody } from '../contract/call.ts';
import { freeBytes } from '../core/bytes.ts';
import { Problem } from '../core/problem.ts';
import type { Quota } from '../core/quota.ts';
import { clearInterval, setImmediate, setInterval } from '../core/timers.ts';

const EMPTY: SentBody = {};
const TOO_LARGE: SentBody = { bodyFault: 'too_large' };
const NOT_UTF8: SentBody = { bodyFault: 'not_utf8' };

/** Returns the announced length of a body in bytes: 0 without a body, undefined for a chunked body (RFC 9112 §6.3). */
export function announcedLength(request: IncomingMessage): number | undefined {
  if (request.headers['transfer-encoding'] !== undefined) return undefined;
  const length = request.headers['content-length'];
  return length === undefined ? 0 : Number(length);
}

/** The bytes of a body that must arrive in each period: 16 KiB a second. */
const MIN_ARRIVING = 32 * 1024;
const PERIOD_MS = 2_000;

export interface ReadOptions {
  /** The maximum length of one body, in bytes. */
  readonly limit: number;
  /** The bytes of all bodies. Those of this body count from before its first byte until its response has ended. */
  readonly bodies: Quota;
  /** The account of the caller. Default: the one of all callers without one. */
  readonly account?: string;
}

export const BUSY = 'The daemon is reading too many bodies; try again.';

/**
 * Returns the body as text, or as a fault if it is larger than `limit` or not UTF-8; the rest of a larger body stays
 * unread. Returns the body itself, not a promise, when it has already arrived. Fails with `vault_busy` when the account
 * holds too many bodies, and with `request_timeout` when the body arrives too slowly or the client leaves before its end.
 * A byte order mark stays in the text; `parseBody` skips it.
 */
export function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  { limit, bodies, account = '' }: ReadOptions,
): SentBody | Promise<SentBody> {
  const length = request.complete ? request.readableLength : announcedLength(request);
  if (length === 0) return EMPTY;
  if (length !== undefined && length > limit) return TOO_LARGE;
  if (response.destroyed) throw gone();
  let held = length ?? limit;
  const waiting = bodies.take(account, held);
  if (waiting === undefined) response.once('close', giveBack);
  if (waiting !== undefined || !request.complete) return arriving();
  const bytes: Buffer | null = request.read();
  return sentBody(bytes ?? Buffer.alloc(0));

  /** Gives back all bytes but the first `kept` ones. */
  function shrink(kept: number): void {
    const more = Math.max(0, held - kept);
    held -= more;
    bodies.giveBack(account, more);
  }
  function giveBack(): void {
    shrink(0);
  }

  async function arriving(): Promise<SentBody> {
    if (waiting !== undefined) {
      await waiting;
      // A destroyed response emits no further 'close' event.
      if (response.destroyed) giveBack();
      else response.once('close', giveBack);
    }
    if (response.destroyed) throw gone();
    askFor(request, response);
    const bytes = await collect(request, limit);
    // Before its end, a chunked body may have any length.
    if (bytes !== undefined) shrink(bytes.length);
    return sentBody(bytes);
  }
}

/** Sends `100 Continue` to a client that waits for it. */
function askFor(request: IncomingMessage, response: ServerResponse): void {
  if (request.headers.expect === undefined) return;
  response.writeContinue();
  // Mark the body as requested for `leavesBody` in write-reply.ts.
  request.headers.expect = undefined;
}

function gone(): Problem {
  return new Problem('request_timeout');
}

/** Returns the text of `bytes`, and frees them. */
function sentBody(bytes: Buffer | undefined): SentBody {
  if (bytes === undefined) return TOO_LARGE;
  if (bytes.length === 0) return EMPTY;
  const sent = isUtf8(bytes) ? { bodyText: bytes.toString('utf8') } : NOT_UTF8;
  freeBytes(bytes);
  return sent;
}

/** Reads a body that has not fully arrived. Resolves to undefined if it is longer than `limit`. */
function collect(request: IncomingMessage, limit: number) {
  return new Promise<Buffer | undefined>((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let before = 0;
    let isSettled = false;
    // Node runs the timers that are due before it reads what has arrived while the process was busy.
    const timer = setInterval(() => setImmediate(checkPace), PERIOD_MS).unref();

    function checkPace(): void {
      const isSlow = size - before < MIN_ARRIVING;
      before = size;
      if (!isSlow || isSettled) return;
      request.pause();
      settle(gone());
    }
    function settle(result: Buffer | undefined | Problem): void {
      isSettled = true;
      clearInterval(timer);
      request.off('data', onData).off('end', onEnd).off('close', onClose);
      if (result instanceof Problem) reject(result);
      else resolve(result);
    }
    function onData(chunk: Buffer): void {
      size += chunk.length;
      if (size <= limit) {
        chunks.push(chunk);
        return;
      }
      request.pause();
      settle(undefined);
    }
    function onEnd(): void {
      const [first] = chunks;
      const bytes = first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks, size);
      settle(bytes);
      if (bytes !== first) for (const chunk of chunks) freeBytes(chunk);
    }
    function onClose(): void {
      for (const chunk of chunks) freeBytes(chunk);
      settle(gone());
    }

    request.on('data', onData).on('end', onEnd).on('close', onClose);
    // A connection that breaks during the body emits 'close'; without a listener its 'error' would end the process.
    request.on('error', () => undefined);
  });
}
