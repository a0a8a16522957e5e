import { printByteSize } from '../../flags/quantities.ts';
import { progressLine } from '../../output/progress-line.ts';

/** Returns functions that show the progress of a copy of a vault file and of its check. `end` clears the line. */
export function copyProgress() {
  const copy = progressLine('copying', printByteSize);
  const check = progressLine('checking the copy');
  return {
    copying: (bytes: number) => copy.show(0, bytes),
    checking: check.show,
    end(): void {
      copy.end();
      check.end();
    },
  };
}
