import type { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { runningTime } from '../core/running-time.ts';

/** How long after a client closed its sending side it may still wait for a reply, in milliseconds. */
const HALF_CLOSED_MS = 500;

/** When the client of each connection closed its sending side. */
const closed = new WeakMap<Socket, number>();

/** Notes when clients close their sending sides. `event` is that of a new connection. */
export function noteEnds(server: EventEmitter, event: string): void {
  server.on(event, (socket: Socket) => {
    socket.once('end', () => closed.set(socket, runningTime()));
  });
}

/**
 * Returns whether the client of a response has left. A client that has ended and one that only closes its sending side
 * (`printf … | nc`) look alike until the daemon writes.
 */
export function hasLeft({ destroyed, req: { socket } }: Pick<ServerResponse, 'destroyed' | 'req'>): boolean {
  const closedAt = closed.get(socket);
  return destroyed || (closedAt !== undefined && runningTime() - closedAt >= HALF_CLOSED_MS);
}
