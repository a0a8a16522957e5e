/**
 * Finds the test files that each mutant of test/checks/mutants.txt makes fail. Runs every test file once with V8's counts,
 * then each mutant with all test files that execute its lines. Appends one JSON line per mutant to a file and prints a
 * summary: mutants that no test file kills, and test files whose kills the smallest set of files has too.
 *
 *   node scripts/kill-matrix.ts --out FILE          leaves out the mutants in FILE, so that a run may be stopped
 *   --cache FOLDER                                  keeps the lines that test files execute, until a file changes
 *   --for MINUTES                                   starts nothing after this time
 *   --shard 2/3                                     the second third of the mutants
 *   --mutants src/cli --tests test/unit/core-       only mutants in, and test files with, these paths; repeatable
 *                                                   each choice of tests needs a FILE of its own
 *   --jobs N                                        how many copies of the checkout run tests; default: 2
 */
import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type Bench, linesOfMutant, openBench } from '../test/checks/kill-matrix/kill-matrix.ts';
import { type Kill, summarize } from '../test/checks/kill-matrix/smallest-cover.ts';
import { MUTANTS } from '../test/checks/mutants-run.ts';
import { ROOT } from './build-output.ts';
import { parseFlags } from './parse-flags.ts';

const USAGE = 'node scripts/kill-matrix.ts --out FILE [--cache FOLDER] [--for MINUTES] [--shard I/N] [--jobs N]';
const { values } = parseFlags('kill-matrix', USAGE, {
  options: {
    out: { type: 'string' },
    cache: { type: 'string', default: path.join(ROOT, 'node_modules', '.cache', 'kill-matrix') },
    for: { type: 'string', default: '600' },
    shard: { type: 'string', default: '1/1' },
    mutants: { type: 'string', multiple: true, default: ['src'] },
    tests: { type: 'string', multiple: true, default: ['test'] },
    jobs: { type: 'string', default: '2' },
  },
});
const [shard = 0, shards = 0] = values.shard.split('/').map(Number);
const { out = '' } = values;
const isShard = shard >= 1 && shard <= shards;
if (out === '' || !isShard || !(Number(values.for) > 0) || !(Number(values.jobs) >= 1)) {
  process.stderr.write(`kill-matrix: --out is missing, or a number is wrong\nusage: ${USAGE}\n`);
  process.exit(2);
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));
const end = performance.now() + Number(values.for) * 60_000;
const textOf = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');
const linesIn = (file: string) => (existsSync(path.join(ROOT, file)) ? textOf(file).split('\n').length - 1 : 0);
const isIn = (prefixes: readonly string[], name: string) => prefixes.some((prefix) => name.startsWith(prefix));

const vitest = [path.join(ROOT, 'node_modules/vitest/vitest.mjs'), 'list', '--filesOnly', '--json'];
/** The test files of the normal run. */
const LISTED: readonly { readonly file: string }[] = JSON.parse(
  execFileSync(process.execPath, vitest, { cwd: ROOT, encoding: 'utf8' }),
);
const TESTS = LISTED.map(({ file }) => path.relative(ROOT, file).replaceAll(path.sep, '/')).filter((file) =>
  isIn(values.tests, file),
);
const readKills = (): readonly Kill[] =>
  (existsSync(out) ? readFileSync(out, 'utf8').trimEnd().split('\n') : []).map((line) => JSON.parse(line));

const benches = Array.from({ length: Number(values.jobs) }, () => openBench(values.cache));
/** Calls `work` for each value on the next free bench, until the time is over. Prints what it returns. */
async function forEach<T>(given: readonly T[], work: (bench: Bench, value: T) => Promise<string>): Promise<void> {
  const waiting = given.values();
  const run = async (bench: Bench) => {
    for (const value of waiting) {
      if (performance.now() > end) return;
      const started = performance.now();
      const said = await work(bench, value);
      process.stderr.write(`${said}, ${Math.round((performance.now() - started) / 1000)} s\n`);
    }
  };
  await Promise.all(benches.map(run));
}

const maps = new Map<string, Awaited<ReturnType<Bench['mapOf']>>>();
await forEach(TESTS, async (bench, test) => {
  maps.set(test, await bench.mapOf(test));
  return `${maps.size}/${TESTS.length} ${test}`;
});
const failing = TESTS.filter((test) => maps.get(test)?.passed === false);
const before = new Set(readKills().map(({ mutant }) => mutant));
const chosen = MUTANTS.filter(({ file }, index) => isIn(values.mutants, file) && index % shards === shard - 1);
const left = maps.size < TESTS.length ? [] : chosen.filter(({ name }) => !before.has(name));
await forEach(left, async (bench, mutant) => {
  const lines = linesOfMutant(mutant, textOf(mutant.file));
  const reach = TESTS.filter((test) => lines.some((line) => maps.get(test)?.lines[mutant.file]?.includes(line)));
  const named = mutant.tests.filter((test) => isIn(values.tests, test));
  const tests = [...new Set([...named, ...reach])].filter((test) => !failing.includes(test));
  const built = mutant.isBuilt || tests.some((test) => maps.get(test)?.built);
  const killers = await bench.killersOf(mutant, tests, built);
  appendFileSync(out, `${JSON.stringify({ mutant: mutant.name, ran: tests, killed_by: killers })}\n`);
  return `${mutant.name}: killed by ${killers.length} of ${tests.length}`;
});

const done = readKills();
const isLeft = ({ name }: { readonly name: string }) => !done.some(({ mutant }) => mutant === name);
const summary = { ...summarize(done, TESTS, linesIn), failing, left: chosen.filter(isLeft).length };
process.stdout.write(`${JSON.stringify(summary, null, 2)}\n`);
