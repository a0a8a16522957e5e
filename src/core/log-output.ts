import { MachineDate, wallTime } from './timers.ts';

/** The maximum number of characters of the log that wait for a slow reader. Lines of the log are ASCII. */
const MAX_WAITING = 4 * 1024 * 1024;

/** The parts of a stream of Node that the log uses. A stream that writes at once has no `writableLength`. */
interface LogStream {
  readonly writableLength?: number;
  readonly writableNeedDrain?: boolean;
  write(text: string): boolean;
  once(event: 'drain', listener: () => void): unknown;
}

/**
 * Returns a function that writes lines to a stream. When its reader stalls, drops the lines that would exceed
 * `maxWaiting`, so that memory stays bounded. When the reader has caught up, writes how many lines were dropped.
 */
export function createLogOutput(stream: () => LogStream, maxWaiting = MAX_WAITING): (text: string) => void {
  let dropped = 0;

  function drained(): void {
    const time = new MachineDate(wallTime()).toISOString();
    stream().write(`${JSON.stringify({ time, level: 'error', error: 'log_lines_dropped', lines: dropped })}\n`);
    dropped = 0;
  }

  return (text) => {
    const out = stream();
    const { writableLength = 0, writableNeedDrain = false } = out;
    // Only a stream that needs it emits `drain`, which ends the dropping.
    if (dropped === 0 && (!writableNeedDrain || writableLength + text.length <= maxWaiting)) {
      out.write(text);
      return;
    }
    if (dropped === 0) out.once('drain', drained);
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) dropped += 1;
  };
}

/** Writes lines of the log to standard error. */
export const writeLog = createLogOutput(() => process.stderr);
