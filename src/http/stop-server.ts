import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** How often connections that have become idle meanwhile are closed. */
const SWEEP_MS = 50;

/** Returns a function that stops the server; call it before the server listens, so that it knows every connection. */
export function createStop(server: Server, graceMs: number): () => Promise<void> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });

  /** Stops accepting, closes what is idle, waits at most `graceMs` for the rest, then cuts it. */
  return () =>
    new Promise((resolve) => {
      const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
      const cut = setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, graceMs);
      server.close(() => {
        clearInterval(sweep);
        clearTimeout(cut);
        resolve();
      });
      // To Node a connection without a first byte is not idle: it waits for the headers.
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
    });
}
