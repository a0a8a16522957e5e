import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { SentBody } from '../contract/call.ts';
import { freeBytes } from '../core/free-bytes.ts';
import { Problem } from '../core/problem.ts';
import type { ByteBudget } from './byte-budget.ts';
import { type ByteLine, busy } from './byte-line.ts';

const EMPTY: SentBody = {};
const TOO_LARGE: SentBody = { bodyFault: 'too_large' };
const NOT_UTF8: SentBody = { bodyFault: 'not_utf8' };

/** Returns the announced length of a body in bytes: 0 without a body, undefined for a chunked body (RFC 9112 §6.3). */
export function announcedLength(request: IncomingMessage): number | undefined {
  if (request.headers['transfer-encoding'] !== undefined) return undefined;
  const length = request.headers['content-length'];
  return length === undefined ? 0 : Number(length);
}

/** Longer bodies wait in line for room. Shorter ones have mostly arrived with their headers. */
const SMALL_BODY = 64 * 1024;

/** The lines of large bodies. */
export interface BodyLines {
  /** Their bytes, from the first one until the call is answered. */
  readonly arriving: ByteLine;
  /** The bytes of those whose calls run. A call takes several times the bytes of its body. */
  readonly running: ByteLine;
}

export interface ReadOptions {
  /** The maximum length of one body, in bytes. */
  readonly limit: number;
  /** Shared by all bodies of the daemon; a body holds its bytes until its response is sent. */
  readonly budget: ByteBudget;
  /** Where large bodies wait instead. Default: they count toward `budget`, too. */
  readonly large?: {
    readonly lines: BodyLines;
    /** Receives the function that gives back the room of the body. Call it when the call is answered. */
    readonly entered: (leave: () => void) => void;
  };
}

/** Returns whether a request has, or may have, a body that waits in line for room. */
export function isLarge(request: IncomingMessage): boolean {
  return (announcedLength(request) ?? Number.POSITIVE_INFINITY) > SMALL_BODY;
}

/**
 * Returns the body as text, or as a fault if it is larger than `limit` or not UTF-8; the rest of a larger body stays
 * unread. Returns the body itself, not a promise, when it has already arrived. Throws `vault_busy` when the daemon
 * holds too many bodies, and `request_timeout` when the client leaves before the end. A byte order mark stays in the
 * text; `parseBody` skips it.
 */
export function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  { limit, budget, large }: ReadOptions,
): SentBody | Promise<SentBody> {
  const length = announcedLength(request);
  if (length === 0) return EMPTY;
  if (length !== undefined && length > limit) return TOO_LARGE;
  // A destroyed response emits no further 'close' event, so the bytes would never be released.
  if (response.destroyed) throw gone();
  const hasArrived = request.complete && request.readableLength <= SMALL_BODY;
  if (large !== undefined && isLarge(request) && !hasArrived)
    return readLarge(request, response, length ?? limit, large);
  askFor(request, response);
  let held = 0;
  response.once('close', () => budget.giveBack(held));

  function hold(bytes: number): boolean {
    if (!budget.take(bytes)) return false;
    held += bytes;
    return true;
  }

  if (!request.complete) return collect(request, length ?? limit, hold).then(sentBody);
  if (request.readableLength > limit) return TOO_LARGE;
  // Reserve the bytes before reading them, so that the call may be repeated after an error.
  if (!hold(request.readableLength)) throw busy();
  const bytes: Buffer | null = request.read();
  return sentBody(bytes ?? Buffer.alloc(0));
}

/** Sends `100 Continue` to a client that waits for it. */
function askFor(request: IncomingMessage, response: ServerResponse): void {
  if (request.headers.expect === undefined) return;
  response.writeContinue();
  // Mark the body as requested for `leavesBody` in write-reply.ts.
  request.headers.expect = undefined;
}

/** Reads a body of at most `limit` bytes when there is room for it, and resolves when there is room for its call. */
async function readLarge(
  request: IncomingMessage,
  response: ServerResponse,
  limit: number,
  { lines: { arriving, running }, entered }: NonNullable<ReadOptions['large']>,
): Promise<SentBody> {
  await arriving.enter(limit);
  let [held, run] = [limit, 0];
  const leave = () => {
    arriving.giveBack(held);
    running.giveBack(run);
    [held, run] = [0, 0];
  };
  if (response.destroyed) {
    leave();
    throw gone();
  }
  response.once('close', leave);
  entered(leave);
  askFor(request, response);
  const bytes = await collect(request, limit, () => true);
  if (bytes === undefined) return TOO_LARGE;
  arriving.giveBack(held - bytes.length);
  held = bytes.length;
  await running.enter(bytes.length);
  run = bytes.length;
  if (!response.destroyed) return sentBody(bytes);
  leave();
  throw gone();
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

/**
 * Reads a body that has not fully arrived. Resolves to undefined if it is longer than `limit`. `hold` reserves bytes;
 * it returns false when the daemon holds too many.
 */
function collect(request: IncomingMessage, limit: number, hold: (bytes: number) => boolean) {
  return new Promise<Buffer | undefined>((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;

    function settle(result: Buffer | undefined | Problem): void {
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
      settle(isTooLarge ? undefined : busy());
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
