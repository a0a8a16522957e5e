import { readFileSync } from 'node:fs';
import { type Line, rounded } from './figures.ts';

/** The percentage by which a ratio may worsen. */
export const DEFAULT_LIMIT = 40;

export const nameOf = ({ bench, case: name }: Line) => `${bench}/${name}`;

/** Parses the output of `npm run bench -- --json`. Throws when a line has no `bench` or no `case`. */
export function readLines(file: string): readonly Line[] {
  const lines = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((each): Line => JSON.parse(each));
  if (lines.some((each) => typeof each?.bench !== 'string' || typeof each.case !== 'string')) {
    throw new Error(`${file} is not what --json writes: a line has no bench or no case`);
  }
  return lines;
}

/** A line with a ratio. */
type Judged = Line & { readonly ratio: number };

const isJudged = (one: Line): one is Judged => one.ratio !== undefined;

/** Returns the percentage by which a ratio worsened; negative when it improved. */
function lossOf(before: Judged, after: Judged): number {
  const kept = before.better === 'lower' ? before.ratio / after.ratio : after.ratio / before.ratio;
  return (1 - kept) * 100;
}

/** A row of the comparison. */
export interface ComparedRow {
  readonly case: string;
  readonly figure: string;
  readonly before?: unknown;
  readonly after: unknown;
  readonly change?: string;
  readonly verdict: 'ok' | 'fell' | 'missing' | 'gone' | 'not judged' | 'new';
}

/**
 * Returns a row for each case of the two results. A case without a ratio never fails. A case that has lost its ratio
 * is `missing`.
 */
export function compareLines(before: readonly Line[], after: readonly Line[], limit = DEFAULT_LIMIT) {
  const later = new Map(after.map((each) => [nameOf(each), each]));
  const earlier = new Set(before.map(nameOf));
  const rows = before.map((one): ComparedRow => {
    const other = later.get(nameOf(one));
    const figure = ['ratio', 'ms', 'bytes'].find((member) => one[member] !== undefined) ?? 'ratio';
    const shown = { case: nameOf(one), figure, before: one[figure], after: other?.[figure] };
    if (other === undefined) return { ...shown, verdict: one.ratio === undefined ? 'gone' : 'missing' };
    if (!isJudged(one) || !isJudged(other)) return { ...shown, verdict: 'not judged' };
    const loss = lossOf(one, other);
    return { ...shown, change: percent(-loss), verdict: loss > limit ? 'fell' : 'ok' };
  });
  const added = after
    .filter((one) => !earlier.has(nameOf(one)))
    .map((one): ComparedRow => ({ case: nameOf(one), figure: 'ratio', after: one.ratio, verdict: 'new' }));
  return [...rows, ...added];
}

export const isFailure = ({ verdict }: ComparedRow) => verdict === 'fell' || verdict === 'missing';

/** Formats a change in percent. A plus is always an improvement. */
const percent = (change: number) => `${change > 0 ? '+' : ''}${rounded(Number(change.toFixed(1)))} %`;

const twiceAsGood = (one: Judged) => ({ ...one, ratio: one.better === 'lower' ? one.ratio / 2 : one.ratio * 2 });

interface JudgeOptions {
  readonly baseline: readonly Line[];
  readonly limit: number;
  measure(names?: readonly string[]): Promise<readonly Line[]>;
}

/**
 * Measures and compares with a baseline. A failing case is measured once more and the better result counts, since other
 * load rarely spoils the same figure twice. `measure` gets the names of the cases to repeat, or undefined for all.
 * Throws when the comparison would miss a baseline that is twice as good.
 */
export async function judge({ baseline, limit, measure }: JudgeOptions) {
  let lines = (await measure()).filter(isJudged);
  const again = compareLines(baseline, lines, limit)
    .filter(isFailure)
    .map((row) => row.case);
  if (again.length > 0) {
    const second = (await measure(again)).filter(isJudged);
    lines = lines.map((one) => {
      const other = second.find((each) => nameOf(each) === nameOf(one));
      return other !== undefined && lossOf(one, other) < 0 ? other : one;
    });
  }
  const control = compareLines(lines.map(twiceAsGood), lines, limit).find((row) => !isFailure(row));
  if (limit < 50 && control !== undefined) throw new Error(`the control did not fail: ${control.case}`);
  const rows = compareLines(baseline, lines, limit);
  return { lines, rows, failed: rows.some(isFailure), again };
}
