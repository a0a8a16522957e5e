/**
 * A TCP relay that holds each packet for a millisecond in both directions, in its own process. Kernels need not have
 * `netem` for it, and the caller need not be root.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

const DELAY_MS = 1;

/** Starts a relay to a port of this machine. */
export async function delayRelay(port) {
  const child = fork(import.meta.filename, [String(port)], { execArgv: [] });
  const [own] = await once(child, 'message');
  return { port: own, stop: () => child.disconnect() };
}

function relay(from, to) {
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
  process.on('disconnect', () => process.exit(0));
  server.listen(0, '127.0.0.1', () => process.send(server.address().port));
}
