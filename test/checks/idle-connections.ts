import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** Connections that are open and say nothing. */
export interface IdleConnections {
  /** Opens so many more; resolves when they are open. Rejects with the error of the first that fails. */
  open(count: number): Promise<void>;
  readonly size: () => number;
  close(): void;
}

/** `url` is asked for at each opening: a daemon may have been started since. */
export function leakConnections(url: () => string): IdleConnections {
  const sockets = new Set<Socket>();
  async function openOne(): Promise<void> {
    const { hostname, port } = new URL(url());
    const socket = connect({ host: hostname, port: Number(port) });
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    await once(socket, 'connect');
    // A reset later on is a way of closing.
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
