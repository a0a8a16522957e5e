import { Fault } from './fault.ts';

/**
 * Returns the maximum length of the path of a Unix socket, in bytes. Linux would take one more, without the final zero
 * that other programs, such as curl, need.
 */
const maxBytes = (system: string) => (system === 'linux' ? 107 : 103);

/** Returns whether the path of a Unix socket is short enough. Windows has pipes instead, without such a limit. */
export function fitsSocket(path: string, system: string = process.platform): boolean {
  return system === 'win32' || Buffer.byteLength(path) <= maxBytes(system);
}

/** Throws the fault `usage` for a path of a Unix socket that is too long. `flag` begins the message. */
export function checkSocketPath(flag: string, path: string, system: string = process.platform): void {
  if (fitsSocket(path, system)) return;
  const most = maxBytes(system);
  throw new Fault(
    'usage',
    `${flag}: the path of the socket has ${Buffer.byteLength(path)} bytes, and the system allows ${most}`,
    { hint: 'name a shorter path; a relative one is used as given' },
  );
}
