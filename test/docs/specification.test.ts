import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { namesIn, testNames } from './test-names.ts';

const text = readFileSync(new URL('../../docs/specification.md', import.meta.url), 'utf8');

interface Row {
  readonly section: string;
  readonly statement: string;
  readonly tests: readonly string[];
}

function rowsOf(document: string): readonly Row[] {
  const lines = document.split('\n').filter((line) => line.startsWith('| ') && !/^\| (---)? ?\|/.test(line));
  return lines
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .filter(([, section = '']) => section !== '---' && section !== '')
    .map(([, section = '', statement = '', tests = '']) => ({
      section,
      statement,
      tests: [...tests.matchAll(/`([^`]*)`/g)].map(([, test = '']) => test),
    }));
}

/** Returns the flaws of the document. */
function flawsOf(document: string): readonly string[] {
  const known = new Map<string, readonly string[]>();
  const flaws: string[] = [];
  for (const { section, statement, tests } of rowsOf(document)) {
    const where = `${section} ${statement}`;
    if (!/^D?§\d(\.\d)?$/.test(section) || statement.length < 10) flaws.push(`${where}: not a statement`);
    if (tests.length === 0) flaws.push(`${where}: shown by nothing`);
    for (const test of tests) {
      const [path = '', ...words] = test.split(' > ');
      const name = words.join(' > ');
      const names = known.get(path) ?? namesIn(path);
      known.set(path, names);
      if (name.length < 2 || !names.some((each) => each.includes(name))) flaws.push(`${where}: no test ${test}`);
    }
  }
  return flaws;
}

const PARAGRAPHS = '1 2.1 2.2 2.3 2.4 2.5 2.6 2.7 2.8 2.9 3 4 4.1 4.2 4.3 5 6 7 8 9'.split(' ');
const DECISIONS = Array.from({ length: 9 }, (_, index) => `D§${index + 1}`);
const SECTIONS = [...PARAGRAPHS.map((number) => `§${number}`), ...DECISIONS];

describe('docs/specification.md', () => {
  it('names existing tests in every row', () => {
    expect(flawsOf(text)).toEqual([]);
  });

  it('has rows for every paragraph of the specification and the decisions', () => {
    const rows = rowsOf(text);
    expect(new Set(rows.map(({ section }) => section))).toEqual(new Set(SECTIONS));
    expect(rows.length).toBeGreaterThan(200);
    const statements = rows.map(({ section, statement }) => section + statement);
    expect(new Set(statements).size).toBe(statements.length);
  });

  it.each([
    ['a test that does not exist', (row: string) => row.replace('> ', '> nobody wrote: ')],
    ['a file that does not exist', (row: string) => row.replace('test/', 'test/no-such/')],
    ['a row without tests', (row: string) => `${row.split('|').slice(0, 3).join('|')}| |`],
    ['a row without a statement', (row: string) => row.replace(/^\| (\S+) \|[^|]*/, '| $1 | ')],
  ])('control: %s is reported', (_what, spoil) => {
    const row = text.split('\n').find((line) => line.startsWith('| §4.1')) ?? '';
    expect(flawsOf(text.replace(row, spoil(row)))).toHaveLength(1);
  });
});

describe('testNames', () => {
  it('returns nested names and templates, without skipped tests', () => {
    const source = [
      "describe('outer', () => {",
      "  it('it\\'s one', () => {});",
      '  it.each([',
      "    ['not a name', 1],",
      "  ])('row %s', (name) => {});",
      "  it.each(CASES)('case $name', () => {});",
      "  it.skip('skipped', () => {});",
      "  // it('commented', () => {});",
      '  test.each([1])(',
      '    `on a line of its own`,',
      '    () => {},',
      '  );',
      '});',
      "test('outside', () => {});",
    ].join('\n');
    const inside = ["it's one", 'row %s', 'case $name', 'on a line of its own'].map((name) => `outer > ${name}`);
    expect(testNames(source)).toEqual(['outer', ...inside, 'outside']);
  });
});
