import { isError } from '../core/fault.ts';
import { writeLog } from '../core/log-output.ts';
import { Problem } from '../core/problem.ts';
import { MachineDate, wallTime } from '../core/timers.ts';
import type { Loss } from '../store/rows/channels.ts';

/**
 * Returns a function that writes an error that the caller does not see: its kind and origin, but not its message, which
 * could quote a stored value. `VAULT_DEBUG=1` adds the message.
 */
export function errorReporter(write: (line: string) => void) {
  return (error: unknown, traceId: string): void => {
    const line = {
      time: new MachineDate(wallTime()).toISOString(),
      level: 'error',
      trace_id: traceId,
      ...describe(error),
    };
    write(`${JSON.stringify(line)}\n`);
  };
}

export const reportError = errorReporter(writeLog);

/** Prints how many committed rows of the audit the database lacks, as after a failover that lost commits. */
export function reportLoss({ missing }: Loss): void {
  writeLog(`${JSON.stringify({ level: 'error', error: 'commits_lost', missing })}\n`);
}

function describe(error: unknown): object {
  if (!isError(error)) return { error: typeof error };
  const root = error instanceof Problem && isError(error.cause) ? error.cause : error;
  const frames = (root.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return {
    error: error instanceof Problem ? error.code : error.name,
    ...('code' in root && { code: root.code }),
    ...('probe' in root && { probe: root.probe }),
    at: frames.slice(0, 4).map((line) => line.trim()),
    ...(process.env['VAULT_DEBUG'] === '1' && { message: root.message }),
  };
}
