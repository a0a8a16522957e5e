const EVERY_MS = 100;
const WIDTH = 24;

/** Reports the progress of long work. */
export interface ProgressLine {
  show(done: number, total: number): void;
  /** Clears the line. */
  end(): void;
}

/** Returns a count with separators: `44,484`. */
export const groupDigits = (count: number) => count.toLocaleString('en-US');

/** Returns a line on stderr that shows progress; it prints nothing without a terminal. `print` formats an amount. */
export function progressLine(
  label: string,
  print: (amount: number) => string = groupDigits,
  stream: NodeJS.WriteStream = process.stderr,
): ProgressLine {
  if (stream.isTTY !== true) return { show: () => undefined, end: () => undefined };
  let shownAt = Number.NEGATIVE_INFINITY;
  return {
    show(done, total) {
      const now = performance.now();
      if (now - shownAt < EVERY_MS) return;
      shownAt = now;
      const filled = total === 0 ? WIDTH : Math.min(WIDTH, Math.floor((done / total) * WIDTH));
      stream.write(
        `\r\u001b[K${label} [${'#'.repeat(filled)}${'.'.repeat(WIDTH - filled)}] ${print(done)} of ${print(total)}`,
      );
    },
    end() {
      if (shownAt > 0) stream.write('\r\u001b[K');
    },
  };
}
