/**
 * A TCP relay that holds each packet for a millisecond in both directions, in its own process. Kernels need not have
 * `netem` for it, and the caller need not be root.
 */
import { connect, createServer, type Socket } from 'node:net';
import { listenForParent, startProcess } from './own-process.ts';

const DELAY_MS = 1;

/** Starts a relay to a port of this machine. */
export const delayRelay = (port: number) => startProcess(import.meta.filename, String(port));

function relay(from: Socket, to: Socket): void {
  from.setNoDelay(true);
  from.on('data', (bytes) => setTimeout(() => to.write(bytes), DELAY_MS));
  from.on('error', () => to.destroy());
  from.on('close', () => setTimeout(() => to.destroy(), DELAY_MS));
}

if (process.argv[1] === import.meta.filename) {
  const server = createServer((client) => {
    const upstream = connect(Number(process.argv[2]), '127.0.0.1');
    relay(client, upstream);
    relay(upstream, client);
  });
  listenForParent(server);
}
