/**
 * Runs the checks of test/checks/: claims about the product that figures show, each with a negative control. Prints one
 * JSON line each and one for the whole. Exits 1 when a check fails, or when a control does not.
 *
 *   npm run check:quick [-- --seed 7] [-- --only 7,9]      the quick ones, on a sample: under 60 s
 *   npm run check:full                                     all of them, whole: under 30 min
 *
 * The checks are TypeScript and drive the built product: they are bundled, one file each, into a folder that goes at the end.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { ROOT } from './build-output.js';

const CHECKS = path.join(ROOT, 'test', 'checks');
/** Seconds for one check, control included. A check that hangs is a failure, not a job that never ends. */
const LIMITS = { quick: 120, full: 1500 };
const BUDGETS = { quick: 60, full: 1800 };

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    seed: { type: 'string' },
    only: { type: 'string' },
  },
});
const mode = values.quick ? 'quick' : 'full';
const seed = values.seed === undefined ? Date.now() % 1_000_000_000 : Number(values.seed);
const only = values.only?.split(',').map(Number);
if (!Number.isSafeInteger(seed) || seed < 0 || only?.some((number) => !Number.isInteger(number))) {
  process.stderr.write('check: give --seed a whole number from 0, --only numbers with commas between them\n');
  process.exit(2);
}

/** A bundled module finds its neighbours where its source is. */
const OWN_URL = {
  name: 'own-url',
  setup(hooks) {
    hooks.onLoad({ filter: /\.ts$/ }, async ({ path: file }) => ({
      contents: (await readFile(file, 'utf8')).replaceAll('import.meta.url', JSON.stringify(pathToFileURL(file).href)),
      loader: 'ts',
    }));
  },
};

/** Inside the checkout, so that packages are found from there. */
function makeFolder() {
  const parent = path.join(ROOT, 'node_modules', '.cache');
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(path.join(parent, 'token-vault-checks-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(130));
  return folder;
}

async function loadChecks() {
  const names = readdirSync(CHECKS).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
  const outdir = makeFolder();
  await build({
    absWorkingDir: ROOT,
    entryPoints: names.map((name) => path.join(CHECKS, name)),
    outdir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    packages: 'external',
    plugins: [OWN_URL],
    logLevel: 'warning',
  });
  const modules = await Promise.all(
    names.map((name) => import(pathToFileURL(path.join(outdir, name.replace(/\.ts$/, '.mjs'))).href)),
  );
  return modules.flatMap(({ CHECK }) => (CHECK ? [CHECK] : [])).sort((a, b) => a.number - b.number);
}

async function withinLimit(work) {
  const seconds = LIMITS[mode];
  let timer;
  const limit = new Promise((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`did not end within ${seconds} s`)), seconds * 1000);
  });
  await Promise.race([work(), limit]).finally(() => clearTimeout(timer));
}

/** What came of the control: it must throw a CheckFailure. Each is bundled apart, so the name tells. */
async function control(check, options) {
  try {
    await check.control(options);
    return { ok: false, says: 'the control did not fail' };
  } catch (error) {
    if (error?.name !== 'CheckFailure') return { ok: false, says: `the control broke: ${error?.stack ?? error}` };
    return { ok: true, says: error.message };
  }
}

async function runCheck(check) {
  const options = { seed, quick: values.quick };
  const started = performance.now();
  const line = { check: check.number, name: check.name, mode, seed };
  const result = { ok: false, figures: {}, control: 'not run' };
  try {
    await withinLimit(async () => {
      result.figures = await check.run(options);
      const { ok, says } = await control(check, options);
      result.ok = ok;
      result.control = ok ? 'failed, as it must' : says;
    });
  } catch (error) {
    result.figures = error?.figures ?? result.figures;
    result.error = error?.name === 'CheckFailure' ? error.message : String(error?.stack ?? error);
    result.ok = false;
  }
  const seconds = Math.round((performance.now() - started) / 100) / 10;
  process.stdout.write(`${JSON.stringify({ ...line, ok: result.ok, seconds, ...result })}\n`);
  return result.ok;
}

const found = await loadChecks();
const asked = found.filter(({ number, quick }) => (only ? only.includes(number) : quick || !values.quick));
const missing = only?.filter((number) => !found.some((check) => check.number === number)) ?? [];
if (missing.length > 0) {
  process.stderr.write(`check: there is no check ${missing.join(', ')}\n`);
  process.exit(2);
}
const started = performance.now();
const failed = [];
for (const check of asked) if (!(await runCheck(check))) failed.push(check.number);
const seconds = Math.round((performance.now() - started) / 100) / 10;
const whole = { checks: asked.length, mode, seed, failed, seconds, budget_seconds: BUDGETS[mode] };
process.stdout.write(`${JSON.stringify(whole)}\n`);
// Not process.exitCode: what a failed check left running must not keep the runner.
process.exit(failed.length === 0 ? 0 : 1);
