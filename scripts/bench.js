/**
 * Measures the built product. Figures are for reading: a slow machine is not a failure, so the exit code says only
 * whether the measuring itself worked; `compare` and `quick` end with 1 when a ratio fell, `statements` when one is over its limit.
 *
 *   npm run bench -- [startup] [http] [statements] [limit] [import] [growth] [snapshot] [transfer] [memory] [--json] [--own-environment]
 *       [--rounds N] [--seconds S] [--tokens N] [--from N] [--only case,case] [--workers N] [--cache FOLDER]
 *   npm run bench -- compare A.json B.json [--limit PERCENT]
 *   npm run bench -- quick [--baseline FILE] [--limit PERCENT] [--write-baseline]
 *   npm run bench -- steps [--json]
 *
 * --tokens is how many a vault holds (100000); of growth, the large one (1000000), and --from the small one. --only and
 * --workers are for http. --cache keeps the vaults that growth made.
 *
 * Commands run in an environment of a few fixed variables. With --own-environment they get this shell's instead, without
 * the vault's: some variables, such as NODE_EXTRA_CA_CERTS, make a bare Node slower and every ratio smaller.
 */
import { writeFile } from 'node:fs/promises';
import { compareLines, DEFAULT_LIMIT, isFailure, readLines } from './bench-compare.js';
import { growth } from './bench-growth.js';
import { HTTP_CASES, http } from './bench-http.js';
import { importing } from './bench-import.js';
import { limit } from './bench-limit.js';
import { memory } from './bench-memory.js';
import { BASELINE, quick } from './bench-quick.js';
import { startup } from './bench-startup.js';
import { statements } from './bench-statements.js';
import { steps } from './bench-steps.js';
import { snapshot, transfer } from './bench-transfer.js';
import { parseFlags } from './parse-flags.js';

/** Each takes the options below and gives `{ title, rows }`; a row is flat, its members are the columns. */
const CASES = {
  startup: { measure: startup, rounds: 30 },
  http: { measure: http, rounds: 5, seconds: 2, tokens: 100_000 },
  statements: { measure: statements },
  limit: { measure: limit, rounds: 5, seconds: 1, tokens: 10_000 },
  import: { measure: importing, rounds: 1, tokens: 100_000 },
  growth: { measure: growth, rounds: 5, seconds: 1, tokens: 1_000_000 },
  steps: { measure: steps, rounds: 60 },
  snapshot: { measure: snapshot, rounds: 5 },
  transfer: { measure: transfer, rounds: 1 },
  memory: { measure: memory, rounds: 1, tokens: 100_000 },
};

/** What runs when nothing is named: the others take long, or have a question of their own. */
const USUAL = ['startup', 'http', 'import', 'snapshot', 'transfer'];

const OPTIONS = {
  rounds: { type: 'string' },
  seconds: { type: 'string' },
  tokens: { type: 'string' },
  from: { type: 'string', default: '1000' },
  only: { type: 'string' },
  workers: { type: 'string' },
  cache: { type: 'string' },
  limit: { type: 'string', default: String(DEFAULT_LIMIT) },
  baseline: { type: 'string', default: BASELINE },
  'write-baseline': { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  'own-environment': { type: 'boolean', default: false },
};

function usage(message) {
  process.stderr.write(`bench: ${message}\n`);
  process.exit(2);
}

const USAGE = `npm run bench -- [${Object.keys(CASES).join('|')} …] [--json] [--own-environment] [--rounds N] [--seconds S]
         [--tokens N] [--from N] [--only CASE,CASE] [--workers N] [--cache FOLDER]
       npm run bench -- compare A.json B.json [--limit PERCENT]
       npm run bench -- quick [--baseline FILE] [--limit PERCENT] [--write-baseline]`;

const { values, positionals } = parseFlags('bench', USAGE, { allowPositionals: true, options: OPTIONS });

/** A number above zero; a whole one unless told otherwise. Undefined when it was not given. */
function numberOf(name, { whole = true } = {}) {
  const number = values[name] === undefined ? undefined : Number(values[name]);
  if (number !== undefined && !(number > 0 && (!whole || Number.isInteger(number)))) {
    usage(`give --${name} a ${whole ? 'whole ' : ''}number above 0`);
  }
  return number;
}

function table(rows) {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const lines = [columns, ...rows.map((row) => columns.map((column) => String(row[column] ?? '')))];
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => line[index].length)));
  const isText = columns.map((column) => rows.every((row) => !['number', 'boolean'].includes(typeof row[column])));
  return lines
    .map((line) =>
      line
        .map((cell, at) => (isText[at] ? cell.padEnd(widths[at]) : cell.padStart(widths[at])))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function print({ title, rows }) {
  if (values.json) for (const row of rows) process.stdout.write(`${JSON.stringify(row)}\n`);
  else process.stdout.write(`${title}\n\n${table(rows)}\n\n`);
}

function compare([before, after, ...rest]) {
  if (after === undefined || rest.length > 0) usage('compare takes two files, each written by --json');
  const limit = numberOf('limit', { whole: false });
  const rows = compareLines(readLines(before), readLines(after), limit);
  print({ title: `${before} → ${after}: a ratio that fell by more than ${limit} % fails`, rows });
  return rows.some(isFailure) ? 1 : 0;
}

/** What was said of how much is measured; what was not is left out. */
function sizesGiven() {
  const sizes = {
    rounds: numberOf('rounds'),
    seconds: numberOf('seconds', { whole: false }),
    tokens: numberOf('tokens'),
  };
  return Object.fromEntries(Object.entries(sizes).filter(([, number]) => number !== undefined));
}

/** The cases of http that `--only` names. */
function casesGiven() {
  const only = values.only?.split(',');
  const unknown = only?.find((name) => !HTTP_CASES.includes(name));
  if (unknown !== undefined) usage(`there is no ${unknown}: --only takes some of ${HTTP_CASES.join(', ')}`);
  return only;
}

/** As biome would have it. */
function formatted(lines) {
  const member = ([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`;
  return `[\n${lines.map((each) => `  { ${Object.entries(each).map(member).join(', ')} }`).join(',\n')}\n]\n`;
}

async function runQuick(rest) {
  if (rest.length > 0) usage('quick takes no other case');
  const options = { limit: numberOf('limit', { whole: false }), only: casesGiven(), ...sizesGiven() };
  const { title, rows, lines, failed } = await quick({ ...options, baseline: values.baseline });
  print({ title, rows });
  if (values['write-baseline']) {
    await writeFile(values.baseline, formatted(lines));
    return 0;
  }
  return failed ? 1 : 0;
}

async function measureAll(names) {
  const unknown = names.filter((name) => !Object.hasOwn(CASES, name));
  if (unknown.length > 0) usage(`there is no ${unknown.join(', ')}: name some of ${Object.keys(CASES).join(', ')}`);
  const only = casesGiven();
  const sizes = sizesGiven();
  let failed = false;
  for (const name of names.length > 0 ? names : USUAL) {
    const { measure, ...usual } = CASES[name];
    const set = Object.fromEntries(Object.entries(usual).map(([option, value]) => [option, sizes[option] ?? value]));
    const ownEnvironment = values['own-environment'];
    const given = { from: numberOf('from'), only, workers: numberOf('workers'), cache: values.cache, ownEnvironment };
    const result = await measure({ ...set, ...given });
    print(result);
    failed ||= result.failed === true;
  }
  return failed ? 1 : 0;
}

const [first, ...rest] = positionals;
const run = { compare: () => compare(rest), quick: () => runQuick(rest) }[first] ?? (() => measureAll(positionals));
process.exitCode = await run();
