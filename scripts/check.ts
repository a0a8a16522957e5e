/**
 * Runs the checks of test/checks/. Each check measures a claim about the product and has a negative control. Prints one
 * JSON line per check and one for the whole run. Exits with 1 when a check fails or its control passes.
 *
 *   npm run check:quick [-- --seed 7] [-- --only 7,9]      the quick checks, on samples; under 4 min
 *   npm run check:quick -- --without 44                    all but one
 *   npm run check:full                                     all checks, on all data; under 45 min
 *   npm run check:store [-- --quick]                       the checks of test/checks/store/, on PostgreSQL
 *   --jobs N                                               how many checks run at a time; default: 2, or 1 on one core
 *
 * The checks run the built product, each in its own process. Checks that measure time run alone after the others.
 */
import { fork } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Check } from '../test/checks/check.ts';
import { ROOT } from './build-output.ts';
import { parseFlags } from './parse-flags.ts';
import type { CheckResult } from './run-check.ts';

/** The maximum duration of one check with its control, in seconds. A slower check fails. */
const LIMITS = { quick: 300, full: 3600 };
const BUDGETS = { quick: 240, full: 2700 };

const { values } = parseFlags(
  'check',
  'node scripts/check.ts [--store] [--quick] [--seed N] [--only N,N] [--without N,N] [--jobs N]',
  {
    options: {
      store: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      seed: { type: 'string' },
      only: { type: 'string' },
      without: { type: 'string', default: '' },
      jobs: { type: 'string' },
    },
  },
);
const CHECKS = path.join(ROOT, 'test', 'checks', values.store ? 'store' : '');
const mode = values.quick ? 'quick' : 'full';
const seed = values.seed === undefined ? Date.now() % 1_000_000_000 : Number(values.seed);
const numbers = (text: string) => text.split(',').filter(Boolean).map(Number);
const only = values.only === undefined ? undefined : numbers(values.only);
const without = numbers(values.without);
const jobs = values.jobs === undefined ? Math.min(2, availableParallelism()) : Number(values.jobs);
if (
  !Number.isSafeInteger(seed) ||
  seed < 0 ||
  [...(only ?? []), ...without].some((number) => !Number.isInteger(number))
) {
  process.stderr.write(
    'check: --seed must be a whole number from 0, and --only and --without must be check numbers separated by commas\n',
  );
  process.exit(2);
}
if (!Number.isSafeInteger(jobs) || jobs < 1) {
  process.stderr.write('check: --jobs must be a whole number from 1\n');
  process.exit(2);
}

/** A check and the path of its module. */
interface FoundCheck extends Check {
  readonly module: string;
}

async function loadChecks(): Promise<readonly FoundCheck[]> {
  const names = readdirSync(CHECKS).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(130));
  const files = names.map((name) => path.join(CHECKS, name));
  const found = await Promise.all(
    files.map(async (module) => {
      const { CHECK }: { readonly CHECK?: Check } = await import(pathToFileURL(module).href);
      return CHECK === undefined ? [] : [{ ...CHECK, module }];
    }),
  );
  return found.flat().sort((a, b) => a.number - b.number);
}

/**
 * Runs a check in its own process. Resolves to its result, or to a failed result when the process sends none in time.
 */
function runApart({ module }: FoundCheck): Promise<CheckResult> {
  return new Promise((resolve) => {
    const child = fork(path.join(ROOT, 'scripts', 'run-check.ts'), [], { stdio: ['ignore', 2, 2, 'ipc'] });
    const fail = (error: string) => resolve({ ok: false, figures: {}, control: 'not run', error });
    const timer = setTimeout(() => {
      fail(`did not end within ${LIMITS[mode]} s`);
      // SIGTERM lets the process end everything that it started.
      child.kill('SIGTERM');
    }, LIMITS[mode] * 1000);
    child.once('message', (result: CheckResult) => resolve(result));
    child.once('error', (error) => fail(String(error)));
    child.once('exit', (code, signal) => {
      clearTimeout(timer);
      fail(`its process ended with ${signal ?? code}`);
    });
    child.send({ module, options: { seed, quick: values.quick } });
  });
}

async function runCheck(check: FoundCheck): Promise<void> {
  const started = performance.now();
  const { ok, ...result } = await runApart(check);
  const seconds = secondsSince(started);
  const line = { check: check.number, name: check.name, mode, seed, ok, seconds, ...result };
  process.stdout.write(`${JSON.stringify(line)}\n`);
  if (!ok) failed.push(check.number);
}

const secondsSince = (started: number) => Math.round((performance.now() - started) / 100) / 10;

/** Runs checks in the order of the list, `width` at a time. */
async function runLanes(checks: readonly FoundCheck[], width: number): Promise<void> {
  const waiting = [...checks];
  const lane = async () => {
    for (let check = waiting.shift(); check; check = waiting.shift()) await runCheck(check);
  };
  await Promise.all(Array.from({ length: width }, lane));
}

/**
 * Runs all checks. The long ones (`early`) start first, so that the run does not end with one of them. Checks that
 * mostly wait (`beside`) run in parallel to the others. Checks that measure time (`alone`) run one by one at the end,
 * except in a quick run, which does not judge times.
 */
async function runAll(checks: readonly FoundCheck[]): Promise<void> {
  const runs = (wanted: Check['runs']) => checks.filter((check) => check.runs === wanted);
  const timed = values.quick ? [] : runs('alone');
  const shared = [
    ...runs('early'),
    ...checks.filter((check) => !check.runs || (values.quick && check.runs === 'alone')),
  ];
  if (jobs === 1) await runLanes([...runs('beside'), ...shared], 1);
  else await Promise.all([runLanes(runs('beside'), 1), runLanes(shared, jobs)]);
  await runLanes(timed, 1);
}

const found = await loadChecks();
const isAsked = ({ number, quick }: Check) => (only ? only.includes(number) : quick || !values.quick);
const asked = found.filter((check) => isAsked(check) && !without.includes(check.number));
const missing = [...(only ?? []), ...without].filter((number) => !found.some((check) => check.number === number));
if (missing.length > 0) {
  process.stderr.write(`check: there is no check ${missing.join(', ')}\n`);
  process.exit(2);
}
if (asked.length === 0) {
  process.stderr.write('check: --only and --without leave no check\n');
  process.exit(2);
}
const started = performance.now();
const failed: number[] = [];
await runAll(asked);
failed.sort((a, b) => a - b);
const seconds = secondsSince(started);
const whole = { checks: asked.length, mode, seed, jobs, failed, seconds, budget_seconds: BUDGETS[mode] };
process.stdout.write(`${JSON.stringify(whole)}\n`);
process.exitCode = failed.length === 0 ? 0 : 1;
