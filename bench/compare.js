import { readFileSync } from 'node:fs';
import { rounded } from './figures.js';

/** The percentage by which a ratio may worsen. */
export const DEFAULT_LIMIT = 40;

export const nameOf = ({ bench, case: name }) => `${bench}/${name}`;

/** Parses the output of `npm run bench -- --json`. Throws when a line has no `bench` or no `case`. */
export function readLines(file) {
  const lines = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((each) => JSON.parse(each));
  if (lines.some((each) => typeof each?.bench !== 'string' || typeof each.case !== 'string')) {
    throw new Error(`${file} is not what --json writes: a line has no bench or no case`);
  }
  return lines;
}

/** Returns the percentage by which a ratio worsened; negative when it improved. */
export function lossOf(before, after) {
  const kept = before.better === 'lower' ? before.ratio / after.ratio : after.ratio / before.ratio;
  return (1 - kept) * 100;
}

/**
 * Returns a row for each case of the two results. A case without a ratio never fails. A case that has lost its ratio
 * is `missing`.
 */
export function compareLines(before, after, limit = DEFAULT_LIMIT) {
  const later = new Map(after.map((each) => [nameOf(each), each]));
  const earlier = new Set(before.map(nameOf));
  const rows = before.map((one) => {
    const other = later.get(nameOf(one));
    const figure = ['ratio', 'ms', 'bytes'].find((member) => one[member] !== undefined) ?? 'ratio';
    const shown = { case: nameOf(one), figure, before: one[figure], after: other?.[figure] };
    if (other === undefined) return { ...shown, verdict: one.ratio === undefined ? 'gone' : 'missing' };
    if (one.ratio === undefined || other.ratio === undefined) return { ...shown, verdict: 'not judged' };
    const loss = lossOf(one, other);
    return { ...shown, change: percent(-loss), verdict: loss > limit ? 'fell' : 'ok' };
  });
  const added = after
    .filter((one) => !earlier.has(nameOf(one)))
    .map((one) => ({ case: nameOf(one), figure: 'ratio', after: one.ratio, verdict: 'new' }));
  return [...rows, ...added];
}

export const isFailure = ({ verdict }) => verdict === 'fell' || verdict === 'missing';

/** Formats a change in percent. A plus is always an improvement. */
const percent = (change) => `${change > 0 ? '+' : ''}${rounded(Number(change.toFixed(1)))} %`;

const twiceAsGood = (one) => ({ ...one, ratio: one.better === 'lower' ? one.ratio / 2 : one.ratio * 2 });

/**
 * Measures and compares with a baseline. A failing case is measured once more and the better result counts, since other
 * load rarely spoils the same figure twice. `measure` gets the names of the cases to repeat, or undefined for all.
 * Throws when the comparison would miss a baseline that is twice as good.
 */
export async function judge({ baseline, limit, measure }) {
  let lines = (await measure()).filter(({ ratio }) => ratio !== undefined);
  const again = compareLines(baseline, lines, limit)
    .filter(isFailure)
    .map((row) => row.case);
  if (again.length > 0) {
    const second = await measure(again);
    lines = lines.map((one) => {
      const other = second.find((each) => nameOf(each) === nameOf(one));
      return other !== undefined && lossOf(one, other) < 0 ? other : one;
    });
  }
  const control = compareLines(lines.map(twiceAsGood), lines, limit).filter((row) => !isFailure(row));
  if (limit < 50 && control.length > 0) throw new Error(`the control did not fail: ${control[0].case}`);
  const rows = compareLines(baseline, lines, limit);
  return { lines, rows, failed: rows.some(isFailure), again };
}
