import { execFile } from 'node:child_process';
import { reasonOf } from '../../exit/error-reason.ts';
import type { Environment } from '../../flags/global-flags.ts';

/** How long `systemd-notify` may take, in milliseconds. */
const TIMEOUT_MS = 5_000;

/**
 * Reports a state of the daemon to the service manager (sd_notify(3)) if NOTIFY_SOCKET is set. Runs `systemd-notify`,
 * because Node.js has no Unix datagram sockets. Does not wait for it. Calls `onFailure` with the code of an error.
 */
export function notify(state: 'READY=1' | 'STOPPING=1', env: Environment, onFailure?: (code: string) => void): void {
  const { NOTIFY_SOCKET, PATH } = env;
  if (!NOTIFY_SOCKET) return;
  // Pass no other variables, because some contain keys.
  const options = { env: { NOTIFY_SOCKET, PATH }, timeout: TIMEOUT_MS };
  execFile('systemd-notify', [state], options, (error) => {
    if (error !== null) onFailure?.(typeof error.code === 'number' ? `exit code ${error.code}` : reasonOf(error));
  });
}
