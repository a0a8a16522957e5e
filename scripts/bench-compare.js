import { readFileSync } from 'node:fs';
import { rounded } from './bench-figures.js';

/** Percent of a ratio that may be lost. */
export const DEFAULT_LIMIT = 40;

export const nameOf = ({ bench, case: name }) => `${bench}/${name}`;

/** The lines of `npm run bench -- --json`, or one array of such lines. Throws when it is neither. */
export function readLines(file) {
  const text = readFileSync(file, 'utf8').trim();
  const lines = text.startsWith('[') ? JSON.parse(text) : text.split('\n').map((each) => JSON.parse(each));
  if (lines.some((each) => typeof each?.bench !== 'string' || typeof each.case !== 'string')) {
    throw new Error(`${file} is not what --json writes: a line has no bench or no case`);
  }
  return lines;
}

/** By how many percent a ratio became worse; negative when it became better. */
export function lossOf(before, after) {
  const kept = before.better === 'lower' ? before.ratio / after.ratio : after.ratio / before.ratio;
  return (1 - kept) * 100;
}

/**
 * A row for each case that is in one of the two results. A case without a ratio is shown and never fails; one that `after`
 * has lost is `missing`, and fails as a fall would.
 */
export function compareLines(before, after, limit = DEFAULT_LIMIT) {
  const later = new Map(after.map((each) => [nameOf(each), each]));
  const earlier = new Set(before.map(nameOf));
  const rows = before.map((one) => {
    const other = later.get(nameOf(one));
    const figure = one.ratio === undefined ? timeOf(one) : 'ratio';
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

/** What stands for a case that has no ratio. */
const timeOf = (one) => ['ms', 'bytes', 'us'].find((member) => one[member] !== undefined) ?? 'ratio';

/** Better is a plus, whichever way the ratio goes. */
const percent = (change) => `${change > 0 ? '+' : ''}${rounded(Number(change.toFixed(1)))} %`;
