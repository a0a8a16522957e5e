/**
 * Tests the packed package in fresh projects outside the checkout, which it installs from npm: the same calls in each
 * test runner, package manager and module system, the blocks of docs/testing.md, the types, and child vaults that
 * nothing stops. The results of all calls must equal those of plain Node. Exits with 1 when a part fails.
 *
 *   node scripts/check-runners.ts           all parts, two at a time
 *   node scripts/check-runners.ts TEXT …    the parts whose names contain one of the texts
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseFlags } from './parse-flags.ts';
import { type Part, partsOf } from './runners/parts.ts';
import { projectsIn } from './runners/projects.ts';

const AT_ONCE = 2;

const started = performance.now();
const secondsSince = (then: number) => ((performance.now() - then) / 1000).toFixed(1);

/** Runs one part and prints its seconds. Resolves to whether it passed. */
async function run({ name, check }: Part): Promise<boolean> {
  const before = performance.now();
  try {
    await check();
    process.stdout.write(`ok ${name} (${secondsSince(before)} s)\n`);
    return true;
  } catch (error) {
    process.stdout.write(`FAILED ${name} (${secondsSince(before)} s): ${error}\n`);
    return false;
  }
}

/** Runs the parts in their order, AT_ONCE at a time. Resolves to the number of failed parts. */
async function runAll(parts: readonly Part[]): Promise<number> {
  const left = parts.values();
  let failed = 0;
  async function next() {
    for (const part of left) if (!(await run(part))) failed += 1;
  }
  await Promise.all(Array.from({ length: AT_ONCE }, next));
  return failed;
}

const { positionals } = parseFlags('check-runners', 'node scripts/check-runners.ts [TEXT …]', {
  allowPositionals: true,
});
const isChosen = ({ name }: Part) => positionals.length === 0 || positionals.some((text) => name.includes(text));
if (!partsOf(projectsIn('')).parts.some(isChosen)) {
  process.stderr.write('check-runners: no part has such a name\n');
  process.exit(2);
}
const work = mkdtempSync(path.join(tmpdir(), 'vault-runners-'));
process.once('exit', () => rmSync(work, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(130));

const { preparations, parts } = partsOf(projectsIn(work));
for (const part of preparations) if (!(await run(part))) process.exit(1);
const chosen = parts.filter(isChosen);
const failed = await runAll(chosen);
process.stdout.write(`${chosen.length} parts, ${failed} failed, in ${secondsSince(started)} s\n`);
process.exit(failed === 0 ? 0 : 1);
