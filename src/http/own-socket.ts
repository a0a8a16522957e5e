import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type BigIntStats, lstatSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import { basename, dirname, join, resolve } from 'node:path';
import { errorCode, Fault } from '../core/fault.ts';
import { checkSocketPath, fitsSocket } from '../core/socket-path.ts';
import { atExit } from '../paths/at-exit.ts';
import { putInPlace } from '../paths/put-in-place.ts';
import { listen } from './server.ts';

const DRAFT_LENGTH = 16;

/**
 * Listens on a Unix socket of mode 0600, or on a named pipe on Windows, which has no file mode. Removes the socket of a
 * dead daemon. Resolves to a function that removes the socket; call it before the server closes. Rejects with the fault
 * `address_in_use` for a live daemon or another kind of file, and with `usage` for a path that is too long.
 */
export async function listenOnSocket(server: Server, path: string): Promise<() => void> {
  if (process.platform === 'win32') {
    await listen(server, { path }, `the pipe ${path}`);
    return () => undefined;
  }
  checkSocketPath('--socket', path);
  await removeStaleSocket(path);
  // Node removes the path that it listened on when it closes, even if the socket there is another daemon's by then.
  const draft = draftOf(path);
  await listenPrivately(server, draft, path);
  try {
    await putInPlace(draft, path, 'new');
    return ownSocket(path);
  } catch (error) {
    server.close();
    if (errorCode(error) === 'EEXIST') throw inUse(path);
    throw error;
  }
}

/** Returns a name for the socket in the folder of `path`. It is short enough if `path` is. */
function draftOf(path: string): string {
  const name = randomBytes(DRAFT_LENGTH / 2).toString('hex');
  const draft = join(dirname(path), name);
  return fitsSocket(draft) ? draft : join(dirname(path), name.slice(0, Buffer.byteLength(basename(path))));
}

async function listenPrivately(server: Server, draft: string, path: string): Promise<void> {
  // `listen` creates the socket before it returns, so no other user can connect in between.
  const umask = process.umask(0o177);
  try {
    const hint = 'name a path in an existing folder that the daemon can write';
    const listening = listen(server, { path: draft }, `the socket ${path}`, { hint });
    process.umask(umask);
    await listening;
  } finally {
    process.umask(umask);
  }
}

/**
 * Returns a function that removes the socket at `path`, unless the path leads to another one by then. The process also
 * does so when it exits. The open socket keeps its inode, so no other file gets the number.
 */
function ownSocket(path: string): () => void {
  const absolute = resolve(path);
  const own = look(absolute);
  const remove = () => {
    if (isSame(look(absolute), own)) rmSync(absolute, { force: true });
  };
  const forget = atExit(remove);
  return () => {
    forget();
    remove();
  };
}

const look = (path: string) => lstatSync(path, { bigint: true, throwIfNoEntry: false });

function isSame(one: BigIntStats | undefined, other: BigIntStats | undefined): boolean {
  return one !== undefined && other !== undefined && one.ino === other.ino && one.dev === other.dev;
}

async function removeStaleSocket(path: string): Promise<void> {
  const found = look(path);
  if (found === undefined) return;
  if (!found.isSocket()) {
    throw new Fault('address_in_use', `${path} exists and is not a socket`, { hint: 'choose another --socket' });
  }
  if (await isAnswered(path)) throw inUse(path);
  // Another daemon may have replaced the socket meanwhile.
  if (isSame(look(path), found)) rmSync(path, { force: true });
}

function inUse(path: string): Fault {
  return new Fault('address_in_use', `another process listens on ${path}`, { hint: 'choose another --socket' });
}

async function isAnswered(path: string): Promise<boolean> {
  const probe = connect({ path });
  try {
    await once(probe, 'connect');
    return true;
  } catch (error) {
    // Only a refused connection proves that no process listens; a forbidden one (EACCES) proves nothing.
    const code = errorCode(error);
    return code !== 'ECONNREFUSED' && code !== 'ENOENT';
  } finally {
    probe.destroy();
  }
}
