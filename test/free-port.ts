import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Resolves to a free port for a server that starts later. It is below the ports that systems give to connections:
 * another process could have one of those by then.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_000);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, () => server.close(() => resolve(true)));
  });
}
