import { compareLines, isFailure, lossOf, nameOf } from './bench-compare.js';

const twiceAsGood = (one) => ({ ...one, ratio: one.better === 'lower' ? one.ratio / 2 : one.ratio * 2 });

/**
 * Measures and compares with a baseline. A case that fails is measured once more, and the better of the two counts: a busy
 * machine spoils a figure now and then, but hardly the same one twice. `measure` is given the names of the cases to measure
 * again, at first none, which means all. Throws when the comparison would not see a baseline that is twice as good.
 */
export async function judge({ baseline, limit, measure }) {
  let lines = (await measure()).filter(({ ratio }) => ratio !== undefined);
  const failing = compareLines(baseline, lines, limit).filter(isFailure);
  if (failing.length > 0) {
    const again = await measure(failing.map(({ case: name }) => name));
    lines = lines.map((one) => {
      const other = again.find((each) => nameOf(each) === nameOf(one));
      return other !== undefined && lossOf(one, other) < 0 ? other : one;
    });
  }
  const control = compareLines(lines.map(twiceAsGood), lines, limit).filter((row) => !isFailure(row));
  if (limit < 50 && control.length > 0) throw new Error(`the control did not fail: ${control[0].case}`);
  const rows = compareLines(baseline, lines, limit);
  return { lines, rows, failed: rows.some(isFailure), again: failing.map(({ case: name }) => name) };
}
