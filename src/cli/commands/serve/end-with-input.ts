import type { Environment } from '../../flags/global-flags.ts';

/** The private variable of `startVault` for its child. No flag has this effect: a service has no standard input. */
export const ENDS_WITH_INPUT = 'VAULT_ENDS_WITH_INPUT';

/**
 * Stops this process as SIGTERM does when its standard input ends, if ENDS_WITH_INPUT is 1. The system closes the pipe
 * when the parent ends, whatever ends it. Windows has no SIGTERM, but calls its listeners, too.
 */
export function endWithInput(env: Environment): void {
  if (env[ENDS_WITH_INPUT] !== '1') return;
  const { stdin } = process;
  stdin.on('error', () => undefined);
  stdin.once('close', () => process.emit('SIGTERM', 'SIGTERM'));
  // A command that fails ends without waiting for the end of its input.
  stdin.resume().unref();
}
