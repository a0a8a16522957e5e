import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ATTACKS, type Attack } from './accounts-attacks.ts';
import { prepareAccounts, SIZES } from './accounts-fixture.ts';
import { type Cost, IDLE, type MeasureOptions, measureAttack } from './accounts-measure.ts';
import { type Check, CheckFailure, type CheckOptions, type Figures } from './check.ts';
import { copySources } from './mutants-run.ts';

/** A bound that holds is measured within three attempts, however busy the machine is; a broken one never. */
const ATTEMPTS = 3;
const MAX_PEAK_MIB = 400e6 / 1024 / 1024;
/** Audit entries and collected garbage count, too. */
const OVERHEAD = 1.2;

function broken({ bounds, untilAnswered }: Attack, cost: Cost, quick: boolean): readonly string[] {
  const { waitMs = Number.POSITIVE_INFINITY, peakMiB = MAX_PEAK_MIB, processor, rate } = bounds;
  const { 200: read = 0 } = cost.statuses;
  // A busy machine also delays a bare server, and a caller without an attack. A quick run has other checks beside it.
  const patience = (quick ? 3 : 1) * waitMs + 2 * cost.machineMs;
  const excesses: readonly (readonly [name: string, isBroken: boolean])[] = [
    ['others are refused', cost.refused.length > 0],
    ['others wait', cost.waitMs > patience],
    ['memory', cost.peakMiB > peakMiB],
    ['processor', processor !== undefined && cost.processor > processor * OVERHEAD],
    ['no answer', untilAnswered === true && !cost.isAnswered],
    ['rate', rate !== undefined && read > rate * (cost.seconds + 1) * OVERHEAD],
    ['goes on after the client left', cost.after > IDLE],
  ];
  return excesses.flatMap(([name, isBroken]) => (isBroken ? [name] : []));
}

function lineOf(cost: Cost, excess: readonly string[]): string {
  const replies = Object.entries(cost.statuses).map(([status, count]) => `${count} × ${status}`);
  return [
    `others wait ${Math.round(cost.waitMs)} ms (the machine: ${Math.round(cost.machineMs)})`,
    ...(cost.refused.length > 0 ? [`${cost.refused.length} refused with ${[...new Set(cost.refused)]}`] : []),
    `${Math.round(cost.peakMiB)} MiB`,
    `${cost.processor.toFixed(1)} s of processor in ${cost.seconds.toFixed(1)} s`,
    ...(replies.length > 0 ? [`replies ${replies.join(', ')}`] : []),
    `${Math.round(cost.after * 100)} % of a processor after leaving`,
    excess.length > 0 ? `broken: ${excess.join(', ')}` : 'holds',
  ].join('; ');
}

async function attempt(attack: Attack, options: MeasureOptions, attempts: number) {
  let excess: readonly string[] = [];
  let line = '';
  for (let left = attempts; left > 0; left -= 1) {
    try {
      const cost = await measureAttack(attack, options);
      excess = broken(attack, cost, options.quick);
      line = lineOf(cost, excess);
    } catch (error) {
      if (!(error instanceof CheckFailure)) throw error;
      excess = [error.message];
      line = error.message;
    }
    process.stderr.write(`accounts: ${attack.name}: ${line}\n`);
    if (excess.length === 0) break;
  }
  return { excess, line };
}

async function run({ quick }: CheckOptions): Promise<Figures> {
  const accounts = await prepareAccounts(SIZES[quick ? 'quick' : 'full']);
  await using _vault = accounts.vault;
  const figures: Record<string, string> = {};
  const failures: string[] = [];
  for (const attack of ATTACKS.filter((each) => each.quick || !quick)) {
    const { excess, line } = await attempt(attack, { accounts, quick }, ATTEMPTS);
    figures[attack.name] = line;
    if (excess.length > 0) failures.push(`${attack.name}: ${excess.join(', ')}`);
  }
  if (failures.length > 0) throw new CheckFailure(failures.join('; '), figures);
  return figures;
}

/** Runs each attack on the sources without its limit. Rejects with a `CheckFailure` if each breaks a bound. */
async function control({ quick }: CheckOptions): Promise<void> {
  const unguarded = ATTACKS.filter(({ guard }) => guard === undefined).map(({ name }) => name);
  if (unguarded.length > 0) throw new Error(`no limit is named for: ${unguarded.join('; ')}`);
  const accounts = await prepareAccounts(SIZES[quick ? 'least' : 'full']);
  await using _vault = accounts.vault;
  using copy = copySources();
  const found: string[] = [];
  const bin = join(copy.folder, 'vault.ts');
  writeFileSync(bin, LAUNCHER);
  for (const attack of ATTACKS.filter((each) => each.quick === 'control' || !quick)) {
    const restore = attack.guard && copy.removeGuard(attack.guard);
    const { excess, line } = await attempt(attack, { accounts, quick, bin }, 1);
    restore?.();
    if (excess.length === 0) throw new Error(`harmless without its limit: ${attack.name}: ${line}`);
    found.push(`${attack.name}: ${excess.join(', ')}`);
  }
  throw new CheckFailure(found.join('; '));
}

const LAUNCHER = `
import { main } from './src/cli/main.ts';
process.exitCode = await main(process.argv.slice(2), { ownsOutput: true });
`;

export const CHECK: Check = { number: 44, name: 'accounts', quick: true, runs: 'alone', run, control };
