import { describe, expect, it } from 'vitest';
import { compareLines, isFailure, judge } from '../../bench/compare.ts';
import type { Line } from '../../bench/figures.ts';

const LIMIT = 40;

const higher = (name: string, ratio: number) => ({ bench: 'http', case: name, ratio, better: 'higher' }) as const;
const lower = (name: string, ratio: number) => ({ bench: 'startup', case: name, ratio, better: 'lower' }) as const;

const verdicts = (before: readonly Line[], after: readonly Line[], limit = LIMIT) =>
  compareLines(before, after, limit).map(({ verdict }) => verdict);

describe('the comparison of two benchmark results', () => {
  it('fails when a ratio falls by more than the limit', () => {
    expect(verdicts([higher('get', 1)], [higher('get', 0.61)])).toEqual(['ok']);
    expect(verdicts([higher('get', 1)], [higher('get', 0.59)])).toEqual(['fell']);
    expect(verdicts([lower('help', 1)], [lower('help', 1.6)])).toEqual(['ok']);
    expect(verdicts([lower('help', 1)], [lower('help', 1.7)])).toEqual(['fell']);
    expect(verdicts([higher('get', 1)], [higher('get', 0.61)], 30)).toEqual(['fell']);
  });

  it('fails for a missing case and lists a new one', () => {
    const rows = compareLines([higher('get', 1)], [higher('list', 1)], LIMIT);
    expect(rows.map((row) => ({ ...row, failure: isFailure(row) }))).toEqual([
      { case: 'http/get', figure: 'ratio', before: 1, after: undefined, verdict: 'missing', failure: true },
      { case: 'http/list', figure: 'ratio', after: 1, verdict: 'new', failure: false },
    ]);
  });
});

describe('the judgement of the quick benchmark', () => {
  const baseline = [higher('get', 0.5), lower('help', 1.2)];

  /** Returns the given results in turn and records the requested case names. */
  function measuring(...results: (readonly Line[])[]) {
    const asked: (readonly string[] | undefined)[] = [];
    const measure = async (names?: readonly string[]) => {
      asked.push(names);
      return results[asked.length - 1] ?? [];
    };
    return { asked, measure };
  }

  it('counts the better of two measurements of a failed case', async () => {
    const spoiled = [higher('get', 0.1), lower('help', 1.2)];
    const { measure } = measuring(spoiled, [higher('get', 0.48)]);
    const { failed, again, lines } = await judge({ baseline, limit: LIMIT, measure });
    expect({ failed, again, lines }).toEqual({
      failed: false,
      again: ['http/get'],
      lines: [higher('get', 0.48), lower('help', 1.2)],
    });
    const worse = measuring(spoiled, [higher('get', 0.05)]);
    expect((await judge({ baseline, limit: LIMIT, measure: worse.measure })).lines[0]).toEqual(higher('get', 0.1));
  });
});
