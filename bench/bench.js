/**
 * Measures the built product. Slow results do not fail, except in `quick`, `compare` and `statements`, which then exit
 * with 1.
 */
import { writeFile } from 'node:fs/promises';
import { parseFlags } from '../scripts/parse-flags.js';
import { compareLines, DEFAULT_LIMIT, isFailure, readLines } from './compare.js';
import { consolePage } from './console.js';
import { growth } from './growth.js';
import { HTTP_CASES, http } from './http.js';
import { importing } from './import.js';
import { memory } from './memory.js';
import { BASELINE, quick } from './quick.js';
import { startup } from './startup.js';

/** The cases that load the product's sources, which takes half a second. */
const statements = async () => (await import('./statements.js')).statements();
const postgres = async (options) => (await import('./postgres.js')).postgres(options);
const move = async (options) => (await import('./move.js')).move(options);

/** Each case resolves to `{ title, rows, failed? }`. A row is flat; its members are the columns. */
const CASES = {
  startup: { measure: startup, rounds: 30 },
  http: { measure: http, rounds: 5, seconds: 2, tokens: 100_000 },
  statements: { measure: statements },
  import: { measure: importing, rounds: 1, tokens: 100_000 },
  growth: { measure: growth, rounds: 5, seconds: 1, tokens: 1_000_000, from: 1000 },
  memory: { measure: memory, tokens: 100_000 },
  postgres: { measure: postgres, rounds: 5, seconds: 2, tokens: 110_000 },
  move: { measure: move, tokens: 100_000 },
  console: { measure: consolePage, rounds: 10, tokens: 1_000_000 },
};

/** The cases that run by default. */
const DEFAULT_CASES = ['startup', 'http', 'import'];

const USAGE = `npm run bench -- [${Object.keys(CASES).join('|')} …] [--json] [--rounds N] [--seconds S] [--tokens N]
         [--only CASE,CASE]                    for http: some of its cases
         [--from N] [--cache FOLDER]           for growth, move and console: tokens of the small vault, where to keep vaults
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

function fail(message) {
  process.stderr.write(`bench: ${message}\n`);
  process.exit(2);
}

/** Returns the given numeric flags. `seconds` and `limit` may have a fraction. */
function numbersOf(...names) {
  const given = names.filter((name) => values[name] !== undefined).map((name) => [name, Number(values[name])]);
  for (const [name, number] of given) {
    const isWhole = name !== 'seconds' && name !== 'limit';
    if (!(number > 0 && (!isWhole || Number.isInteger(number)))) {
      fail(`give --${name} a ${isWhole ? 'whole ' : ''}number above 0`);
    }
  }
  return Object.fromEntries(given);
}

/** Returns the cases of http that `--only` names. */
function onlyCases() {
  const only = values.only?.split(',');
  const unknown = only?.find((name) => !HTTP_CASES.includes(name));
  if (unknown !== undefined) fail(`unknown case ${unknown}: --only takes some of ${HTTP_CASES.join(', ')}`);
  return only;
}

function table(rows) {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const lines = [columns, ...rows.map((row) => columns.map((column) => String(row[column] ?? '')))];
  const widths = columns.map((_, at) => Math.max(...lines.map((line) => line[at].length)));
  const padded = lines.map((line) =>
    line
      .map((cell, at) => cell.padEnd(widths[at]))
      .join('  ')
      .trimEnd(),
  );
  return padded.join('\n');
}

function print({ title, rows }) {
  if (values.json) for (const row of rows) process.stdout.write(`${JSON.stringify(row)}\n`);
  else process.stdout.write(`${title}\n\n${table(rows)}\n\n`);
}

function compare([before, after, ...rest]) {
  if (after === undefined || rest.length > 0) fail('compare takes two files, each written by --json');
  const { limit } = numbersOf('limit');
  const rows = compareLines(readLines(before), readLines(after), limit);
  print({ title: `${before} → ${after}: a ratio that fell by more than ${limit} % fails`, rows });
  return rows.some(isFailure) ? 1 : 0;
}

async function runQuick(rest) {
  if (rest.length > 0) fail('quick takes no other case');
  const sizes = numbersOf('limit', 'rounds', 'seconds', 'tokens');
  const result = await quick({ ...sizes, only: onlyCases(), baseline: values.baseline });
  print(result);
  if (!values['write-baseline']) return result.failed ? 1 : 0;
  await writeFile(values.baseline, result.lines.map((each) => `${JSON.stringify(each)}\n`).join(''));
  return 0;
}

async function measureAll(names) {
  const unknown = names.filter((name) => !Object.hasOwn(CASES, name));
  if (unknown.length > 0) fail(`unknown case ${unknown.join(', ')}: name some of ${Object.keys(CASES).join(', ')}`);
  const sizes = numbersOf('rounds', 'seconds', 'tokens', 'from');
  const options = { ...sizes, only: onlyCases(), cache: values.cache };
  let failed = false;
  for (const name of names.length > 0 ? names : DEFAULT_CASES) {
    const { measure, ...defaults } = CASES[name];
    const result = await measure({ ...defaults, ...options });
    print(result);
    failed ||= result.failed === true;
  }
  return failed ? 1 : 0;
}

const [first, ...rest] = positionals;
const run = { compare: () => compare(rest), quick: () => runQuick(rest) }[first] ?? (() => measureAll(positionals));
process.exitCode = await run();
