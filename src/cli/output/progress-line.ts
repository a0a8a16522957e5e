import { runningTime } from '../../core/timers.ts';

const EVERY_MS = 100;
const WIDTH = 24;

/** Returns a count with separators: `44,484`. */
export const groupDigits = (count: number) => count.toLocaleString('en-US');

/** Returns a line on stderr that shows progress; it prints nothing without a terminal. `print` formats an amount. */
export function progressLine(
  label: string,
  print: (amount: number) => string = groupDigits,
  stream: NodeJS.WriteStream = process.stderr,
) {
  let shownAt = Number.NEGATIVE_INFINITY;
  return {
    show(done: number, total: number): void {
      const now = runningTime();
      if (stream.isTTY !== true || now - shownAt < EVERY_MS) return;
      shownAt = now;
      const filled = total === 0 ? WIDTH : Math.min(WIDTH, Math.floor((done / total) * WIDTH));
      const bar = '#'.repeat(filled) + '.'.repeat(WIDTH - filled);
      stream.write(`\r\u001b[K${label} [${bar}] ${print(done)} of ${print(total)}`);
    },
    end(): void {
      if (shownAt > 0) stream.write('\r\u001b[K');
    },
  };
}
