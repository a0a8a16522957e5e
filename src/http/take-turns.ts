import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { nextTick } from '../core/timers.ts';

/** The maximum number of requests that wait on one connection. A client that pipelines more is cut off. */
const MAX_WAITING = 100;
/**
 * The number of waiting requests from which nothing more is read from a connection. Below it the daemon reads on,
 * because the end of a paused connection is not seen, and the work of a client that has left would continue.
 */
const MAX_READ_AHEAD = 8;

/**
 * Passes the requests of a connection to `receive` one at a time. A pipelined request waits until the previous response
 * has been handed to the system. A connection thus holds one reply at most, even if its client does not read.
 */
export function takeTurns(receive: RequestListener) {
  const newest = new WeakMap<Duplex, ServerResponse>();
  /** The number of waiting requests of each connection. */
  const waiting = new WeakMap<Duplex, number>();

  function wait(request: IncomingMessage, response: ServerResponse, before: ServerResponse): void {
    const { socket } = request;
    const count = (waiting.get(socket) ?? 0) + 1;
    waiting.set(socket, count);
    if (count > MAX_WAITING) {
      socket.destroy();
      return;
    }
    // Node resumes the connection after it has parsed this request.
    nextTick(() => (waiting.get(socket) ?? 0) >= MAX_READ_AHEAD && socket.pause());
    before.once('close', () => {
      const remaining = (waiting.get(socket) ?? 1) - 1;
      waiting.set(socket, remaining);
      // Node sends nothing after a response with `Connection: close`.
      if (!socket.writable) return;
      // Node resumes a connection whenever a response ends.
      if (remaining >= MAX_READ_AHEAD) socket.pause();
      else socket.resume();
      receive(request, response);
    });
  }

  return {
    receive(request: IncomingMessage, response: ServerResponse): void {
      const before = newest.get(request.socket);
      newest.set(request.socket, response);
      if (before === undefined || before.writableFinished || before.destroyed) receive(request, response);
      else wait(request, response, before);
    },
    /** Returns the response to the newest request of a connection. */
    newest: (socket: Duplex): ServerResponse | undefined => newest.get(socket),
  };
}
