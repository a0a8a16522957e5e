import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate } from '../core/timers.ts';

/** The number of large bodies that may begin in one turn of the event loop. */
const MAX_BEGINNINGS = 32;

/**
 * Returns a function to call when a large body begins. Node reads 64 KiB of it before the daemon can decide on its
 * request. So when many large bodies begin in one turn of the event loop, the other connections stay unread in the
 * system, and a few of them are read in each later turn. `isIdle` returns whether a connection has no open request.
 */
export function paceReading(server: Server, event: string, isIdle: (socket: Duplex) => boolean): () => void {
  const sockets = new Set<Socket>();
  const paused = new Set<Socket>();
  let begun = 0;
  server.on(event, (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      paused.delete(socket);
    });
  });

  function pauseAll(): void {
    for (const socket of sockets) {
      if (paused.has(socket) || !isIdle(socket)) continue;
      paused.add(socket);
      socket.pause();
    }
  }

  function resumeSome(): void {
    begun = 0;
    for (const socket of [...paused].slice(0, MAX_BEGINNINGS)) {
      paused.delete(socket);
      socket.resume();
    }
    if (paused.size > 0) setImmediate(resumeSome);
  }

  return () => {
    if (begun === 0 && paused.size === 0) setImmediate(resumeSome);
    begun += 1;
    if (begun === MAX_BEGINNINGS) pauseAll();
  };
}
