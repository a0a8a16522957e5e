import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** The peer of a connection that ended before its address was read. It counts as another machine. */
const UNKNOWN = 'unknown';

const peers = new WeakMap<Duplex, string>();

/**
 * Keeps the address of each new connection of a server. The system forgets the address when the client resets the
 * connection, and the request of such a client still runs. `event` is `connection` or `secureConnection`.
 */
export function notePeers(server: Server, event: string): void {
  server.on(event, (socket: Socket) => {
    // The address of a server on a Unix socket is a path, or null if another process created the socket.
    const isUnixSocket = server.listening && typeof (server.address() ?? '') === 'string';
    peers.set(socket, isUnixSocket ? '' : (socket.remoteAddress ?? UNKNOWN));
  });
}

/** Returns the address of the client; `''` for a Unix socket, and `unknown` if the client went away too early. */
export function peerOf(socket: Duplex & { readonly remoteAddress?: string | undefined }): string {
  return peers.get(socket) ?? socket.remoteAddress ?? UNKNOWN;
}
