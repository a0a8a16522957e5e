import { readFileSync, readlinkSync } from 'node:fs';
import { Fault } from '../core/fault.ts';

const FIRST_FD = 3;

/**
 * Returns the file descriptor of the socket that systemd has passed to this process (sd_listen_fds(3)); undefined
 * without one. Throws the fault `usage` for several sockets.
 */
export function passedSocket(env: Readonly<Record<string, string | undefined>>, pid: number = process.pid) {
  const { LISTEN_PID, LISTEN_FDS } = env;
  if (LISTEN_PID !== String(pid) || LISTEN_FDS === undefined || LISTEN_FDS === '0') return undefined;
  if (LISTEN_FDS === '1') return FIRST_FD;
  throw new Fault('usage', `systemd passed ${LISTEN_FDS} sockets (LISTEN_FDS), but the daemon listens on one`, {
    hint: 'write one ListenStream= into the socket unit',
  });
}

/** Returns the path of a Unix socket that another process has bound. Linux only, as systemd is. */
export function pathOfSocket(fd: number): string {
  const [, inode = ''] = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`)) ?? [];
  const lines = readFileSync('/proc/self/net/unix', 'utf8').split('\n');
  // A path may contain blanks.
  const found = lines.map((line) => /^(?:\S+ +){6}(\d+) (.+)$/.exec(line)).find((match) => match?.[1] === inode);
  return found?.[2] ?? '';
}
