import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** Open connections that send nothing. */
export interface IdleConnections {
  /** Opens `count` more connections and waits until they are open. Rejects with the first error. */
  open(count: number): Promise<void>;
  readonly size: () => number;
  close(): void;
}

/** Calls `url` for each connection, because the daemon may have restarted. */
export function leakConnections(url: () => string): IdleConnections {
  const sockets = new Set<Socket>();
  async function openOne(): Promise<void> {
    const { hostname, port } = new URL(url());
    const socket = connect({ host: hostname, port: Number(port) });
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    await once(socket, 'connect');
    // A later reset only closes the socket.
    socket.on('error', () => undefined);
    socket.resume();
  }
  return {
    open: async (count) => {
      await Promise.all(Array.from({ length: count }, openOne));
    },
    size: () => sockets.size,
    close: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}
