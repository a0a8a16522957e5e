/**
 * Measures the built product. Slow results do not fail, except in `quick`, `compare` and `statements`, which then exit
 * with 1.
 */
import { writeFile } from 'node:fs/promises';
import { parseFlags } from '../scripts/parse-flags.ts';
import { compareLines, DEFAULT_LIMIT, isFailure, readLines } from './compare.ts';
import type { CaseResult } from './figures.ts';
import { growth } from './growth.ts';
import { HTTP_CASES, http } from './http.ts';
import { importing } from './import.ts';
import { memory } from './memory.ts';
import { BASELINE, quick } from './quick.ts';
import { startup } from './startup.ts';

type Sizes = Record<'rounds' | 'seconds' | 'tokens' | 'from', number>;

interface Options extends Partial<Sizes> {
  readonly only: readonly string[] | undefined;
  readonly cache: string | undefined;
}

/** A table. Each row is flat; its members are the columns. */
interface Table {
  readonly title: string;
  readonly rows: readonly object[];
}

/** The cases, each with its default sizes. Those that load the product's sources are imported late: it takes half a second. */
const CASES: Readonly<Record<string, (options: Options) => Promise<CaseResult>>> = {
  startup: ({ rounds = 30 }) => startup({ rounds }),
  http: ({ rounds = 5, seconds = 2, tokens = 100_000, only }) => http({ rounds, seconds, tokens, only }),
  statements: async () => (await import('./statements.ts')).statements(),
  import: ({ rounds = 1, tokens = 100_000 }) => importing({ rounds, tokens }),
  growth: ({ rounds = 5, seconds = 1, tokens = 1_000_000, from = 1000, cache }) =>
    growth({ rounds, seconds, tokens, from, cache }),
  memory: ({ tokens = 100_000 }) => memory({ tokens }),
  postgres: async ({ rounds = 5, seconds = 2, tokens = 110_000 }) =>
    (await import('./postgres.ts')).postgres({ rounds, seconds, tokens }),
  move: async ({ tokens = 100_000, cache }) => (await import('./move.ts')).move({ tokens, cache }),
};

/** The cases that run by default. */
const DEFAULT_CASES = ['startup', 'http', 'import'];

const USAGE = `npm run bench -- [${Object.keys(CASES).join('|')} …] [--json] [--rounds N] [--seconds S] [--tokens N]
         [--only CASE,CASE]                    for http: some of its cases
         [--from N] [--cache FOLDER]           for growth and move: tokens of the small vault, where to keep vaults
       npm run bench -- compare A.json B.json [--limit PERCENT]
       npm run bench -- quick [--only CASE,CASE] [--baseline FILE] [--limit PERCENT] [--write-baseline]`;

const { values, positionals } = parseFlags('bench', USAGE, {
  allowPositionals: true,
  options: {
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    tokens: { type: 'string' },
    from: { type: 'string' },
    only: { type: 'string' },
    cache: { type: 'string' },
    limit: { type: 'string', default: String(DEFAULT_LIMIT) },
    baseline: { type: 'string', default: BASELINE },
    'write-baseline': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});

function fail(message: string): never {
  process.stderr.write(`bench: ${message}\n`);
  process.exit(2);
}

/** Returns the given numeric flags. `seconds` and `limit` may have a fraction. */
function numbersOf<Name extends keyof Sizes | 'limit'>(...names: readonly Name[]): Partial<Record<Name, number>> {
  const numbers: Partial<Record<Name, number>> = {};
  for (const name of names.filter((each) => values[each] !== undefined)) {
    const number = Number(values[name]);
    numbers[name] = number;
    const isWhole = name !== 'seconds' && name !== 'limit';
    if (!(number > 0 && (!isWhole || Number.isInteger(number)))) {
      fail(`give --${name} a ${isWhole ? 'whole ' : ''}number above 0`);
    }
  }
  return numbers;
}

const limit = () => numbersOf('limit').limit ?? DEFAULT_LIMIT;

/** Returns the cases of http that `--only` names. */
function onlyCases(): readonly string[] | undefined {
  const only = values.only?.split(',');
  const unknown = only?.find((name) => !HTTP_CASES.includes(name));
  if (unknown !== undefined) fail(`unknown case ${unknown}: --only takes some of ${HTTP_CASES.join(', ')}`);
  return only;
}

function table(rows: readonly object[]): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const cells = rows.map((row) => new Map<string, unknown>(Object.entries(row)));
  const lines = [columns, ...cells.map((row) => columns.map((column) => String(row.get(column) ?? '')))];
  const widths = columns.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  const padded = lines.map((line) =>
    line
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return padded.join('\n');
}

function print({ title, rows }: Table): void {
  if (values.json) for (const row of rows) process.stdout.write(`${JSON.stringify(row)}\n`);
  else process.stdout.write(`${title}\n\n${table(rows)}\n\n`);
}

function compare([before, after, ...others]: readonly string[]): number {
  if (before === undefined || after === undefined || others.length > 0)
    fail('compare takes two files, each written by --json');
  const percent = limit();
  const rows = compareLines(readLines(before), readLines(after), percent);
  print({ title: `${before} → ${after}: a ratio that fell by more than ${percent} % fails`, rows });
  return rows.some(isFailure) ? 1 : 0;
}

async function runQuick(others: readonly string[]): Promise<number> {
  if (others.length > 0) fail('quick takes no other case');
  const sizes = numbersOf('rounds', 'seconds', 'tokens');
  const result = await quick({ ...sizes, limit: limit(), only: onlyCases(), baseline: values.baseline });
  print(result);
  if (!values['write-baseline']) return result.failed ? 1 : 0;
  await writeFile(values.baseline, result.lines.map((each) => `${JSON.stringify(each)}\n`).join(''));
  return 0;
}

async function measureAll(names: readonly string[]): Promise<number> {
  const unknown = names.filter((name) => !Object.hasOwn(CASES, name));
  if (unknown.length > 0) fail(`unknown case ${unknown.join(', ')}: name some of ${Object.keys(CASES).join(', ')}`);
  const sizes = numbersOf('rounds', 'seconds', 'tokens', 'from');
  const options = { ...sizes, only: onlyCases(), cache: values.cache };
  let failed = false;
  for (const measure of (names.length > 0 ? names : DEFAULT_CASES).flatMap((name) => CASES[name] ?? [])) {
    const result = await measure(options);
    print(result);
    failed ||= result.failed === true;
  }
  return failed ? 1 : 0;
}

const [first, ...rest] = positionals;
if (first === 'compare') process.exitCode = compare(rest);
else if (first === 'quick') process.exitCode = await runQuick(rest);
else process.exitCode = await measureAll(positionals);
