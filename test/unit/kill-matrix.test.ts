import { SourceMap } from 'node:module';
import { describe, expect, it } from 'vitest';
import { executedLines, wordsOf } from '../checks/kill-matrix/executed-lines.ts';
import { linesOfMutant } from '../checks/kill-matrix/kill-matrix.ts';
import { type Kill, smallestCover, summarize } from '../checks/kill-matrix/smallest-cover.ts';
import { HARMLESS } from '../checks/mutants-run.ts';

const TEXT = ['const a = 1;', 'function b() {', '  if (a) return 1;', '  return 2;', '}', ''].join('\n');
const range = (startOffset: number, endOffset: number, count: number) => ({ startOffset, endOffset, count });
const functionAt = TEXT.indexOf('function');
const RAN = { ranges: [range(0, TEXT.length, 1)] };

describe('the lines that ran', () => {
  it.each([
    ['a function that was never called', [range(functionAt, TEXT.length, 0)], [1]],
    [
      'a block that was left out',
      [range(functionAt, TEXT.length, 3), range(TEXT.indexOf('  return 2'), TEXT.lastIndexOf('}'), 0)],
      [1, 2, 3, 5],
    ],
    ['all', [range(functionAt, TEXT.length, 1)], [1, 2, 3, 4, 5]],
  ])('have a word in a block that ran: %s', (_, ranges, lines) => {
    const ran = executedLines(wordsOf('src/a.ts', TEXT), [RAN, { ranges }]);
    expect([...ran]).toEqual(lines.map((line) => `src/a.ts:${line}`));
  });

  it('are those of the sources of a bundle', () => {
    // Column 0 comes from line 2 and column 4 from line 3 of src/a.ts; column 8 comes from a package.
    const sources = ['../src/a.ts', '../node_modules/p/b.js'];
    const map = new SourceMap({ ...HEAD, sources, mappings: 'AACA,IACA,ICAA' });
    const words = wordsOf('dist/a.js', 'a()\nb()\nc()'.replaceAll('\n', ';'), map);
    expect([...executedLines(words, [{ ranges: [range(0, 11, 1)] }])]).toEqual(['src/a.ts:2', 'src/a.ts:3']);
    expect([...executedLines(words, [{ ranges: [range(0, 11, 0), range(4, 8, 1)] }])]).toEqual(['src/a.ts:3']);
  });

  it('of a mutant are those of its text', () => {
    expect(linesOfMutant({ ...HARMLESS, from: 'if (a) return 1;\n  return 2;' }, TEXT)).toEqual([3, 4]);
  });
});

const HEAD = {
  version: 3,
  file: 'a.js',
  sourceRoot: '',
  names: [],
  sourcesContent: [],
} as never as SourceMap['payload'];
const kill = (mutant: string, ...killed_by: string[]): Kill => ({ mutant, ran: ['t/a', 't/b', 't/c'], killed_by });
const LINES: Readonly<Record<string, number>> = { 't/a': 10, 't/b': 100, 't/c': 20 };
const linesIn = (file: string) => LINES[file] ?? 0;

describe('the smallest cover', () => {
  it.each([
    ['is empty without kills', [kill('1')], []],
    ['takes the shorter of two files with the same kills', [kill('1', 't/a', 't/b')], ['t/a']],
    ['keeps a file that alone kills a mutant', [kill('1', 't/a', 't/b'), kill('2', 't/b')], ['t/b']],
    [
      'leaves out a file that later ones made needless',
      [kill('1', 't/a', 't/b'), kill('2', 't/a', 't/c'), kill('3', 't/b'), kill('4', 't/c')],
      ['t/b', 't/c'],
    ],
  ])('%s', (_, kills, cover) => {
    expect(smallestCover(kills, linesIn)).toEqual(cover);
  });

  it('is summarized by folder', () => {
    expect(summarize([kill('1', 't/a', 't/b'), kill('2')], ['t/a', 't/b', 'u/d'], linesIn)).toEqual({
      mutants: 2,
      killed_by_nobody: ['2'],
      outside_the_smallest_cover: { 't/b': 100, 'u/d': 0 },
      folders: { t: { lines: 110, outside: 100 }, u: { lines: 0, outside: 0 } },
    });
  });
});
