import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** Requests that may wait on one connection; a client that pipelines more is cut off. */
const MAX_WAITING = 100;

/** The requests of one connection: one is being answered, or none. */
interface Line {
  newest: ServerResponse;
  isBusy: boolean;
  readonly waiting: (() => void)[];
}

/**
 * Hands on one request of a connection at a time: pipelined ones wait until the response before theirs has been handed to
 * the system. So a connection holds one reply, and a client that does not read makes no further ones.
 */
export function takeTurns(receive: RequestListener) {
  const lines = new WeakMap<Duplex, Line>();

  function begin(request: IncomingMessage, response: ServerResponse, line: Line): void {
    line.isBusy = true;
    response.once('close', () => goOn(request.socket, line));
    receive(request, response);
  }

  function goOn(socket: Duplex, line: Line): void {
    line.isBusy = false;
    // After a response with `Connection: close` Node sends no other.
    const next = socket.writable ? line.waiting.shift() : undefined;
    if (next === undefined) return;
    // Node resumes a connection whenever a response ends.
    if (line.waiting.length > 0) socket.pause();
    else socket.resume();
    next();
  }

  return {
    receive(request: IncomingMessage, response: ServerResponse): void {
      const { socket } = request;
      const line = lines.get(socket) ?? { newest: response, isBusy: false, waiting: [] };
      lines.set(socket, line);
      line.newest = response;
      if (!line.isBusy) {
        begin(request, response, line);
        return;
      }
      if (line.waiting.push(() => begin(request, response, line)) > MAX_WAITING) socket.destroy();
      // Node resumes the connection once it has parsed this request.
      else process.nextTick(() => line.waiting.length > 0 && socket.pause());
    },
    /** The response to the newest request of a connection. */
    newest: (socket: Duplex): ServerResponse | undefined => lines.get(socket)?.newest,
  };
}
