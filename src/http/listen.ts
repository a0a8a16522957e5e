import { chmodSync, lstatSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import { connect, type ListenOptions } from 'node:net';
import { Fault } from '../core/fault.ts';

const IS_WINDOWS = process.platform === 'win32';

/** Resolves to the port, the one that the system chose when `port` was 0. Throws the fault `address_in_use`, or `usage`. */
export async function listenOnPort(server: Server, host: string, port: number): Promise<number> {
  await listen(server, { host, port }, `port ${port} on ${host}`);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('unreachable: a port has an address');
  return address.port;
}

/**
 * Listens on a Unix socket of mode 0600 (a pipe's name on Windows, where the file system knows nothing of it). What a
 * dead daemon left behind is removed; a live one, or a file of another kind, is the fault `address_in_use`.
 */
export async function listenOnSocket(server: Server, path: string): Promise<void> {
  if (IS_WINDOWS) {
    await listen(server, { path }, `the pipe ${path}`);
    return;
  }
  await removeStaleSocket(path);
  // The socket is made before `listen` returns: no other user can connect in between.
  const umask = process.umask(0o177);
  try {
    const listening = listen(server, { path }, `the socket ${path}`);
    process.umask(umask);
    await listening;
  } finally {
    process.umask(umask);
  }
  chmodSync(path, 0o600);
}

async function removeStaleSocket(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket()) {
    throw new Fault('address_in_use', `${path} exists and is not a socket`, { hint: 'choose another --socket' });
  }
  if (await isAnswered(path)) {
    throw new Fault('address_in_use', `another process listens on ${path}`, { hint: 'choose another --socket' });
  }
  rmSync(path, { force: true });
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect({ path });
    probe.once('connect', () => {
      probe.destroy();
      resolve(true);
    });
    // Only a refused connection proves that nobody listens; one that may not be made (EACCES) proves nothing.
    probe.once('error', (error: NodeJS.ErrnoException) => {
      resolve(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT');
    });
  });
}

function listen(server: Server, options: ListenOptions, place: string): Promise<void> {
  return new Promise((resolve, reject) => {
    function onError(error: NodeJS.ErrnoException): void {
      server.off('listening', onListening);
      if (error.code === 'EADDRINUSE') reject(new Fault('address_in_use', `${place} is in use`, { cause: error }));
      else reject(new Fault('usage', `cannot listen on ${place} (${error.code})`, { cause: error }));
    }
    function onListening(): void {
      server.off('error', onError);
      resolve();
    }
    server.once('error', onError).once('listening', onListening);
    server.listen(options);
  });
}
