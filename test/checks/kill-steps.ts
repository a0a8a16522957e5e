import { type Check, CheckFailure, type CheckOptions } from './check.ts';
import { killEachAfterLink } from './kill-after-link.ts';
import { KILL_CASES, type KillCase } from './kill-steps-cases.ts';
import { createSteppedVault, demand, type SteppedVault } from './kill-steps-vault.ts';
import { inParallel } from './perform.ts';

const LONG_FACTOR = 10;
const KILLS = { quick: 6, full: 50 } as const;
/** A command with fewer steps writes nothing, or the steps are not seen. */
const MIN_STEPS = 5;

/**
 * Kills a command at steps on the disk that are spread evenly over a whole run, or at each step if there are few. After each kill the vault must be in
 * the old or the new state, and the next run must complete. `afterKill` is for the control.
 */
export async function killAtSteps(
  { span, words, prepare, check, last }: KillCase,
  kills: number,
  afterKill: (vault: SteppedVault) => void = () => undefined,
): Promise<number> {
  using vault = await createSteppedVault();
  await prepare(vault);
  // Count the steps of a whole run, then restore the state before it.
  const before = { files: vault.keep(), links: await vault.auditLinks() };
  demand('the signal of a whole run', await vault.stepped(words(0), { STEPS_FILE: vault.inside('steps') }), null);
  const steps = Number(vault.read('steps'));
  if (steps <= MIN_STEPS) throw new CheckFailure(`${steps} steps are too few`);
  // A copy of a small file has few steps. The check then kills at each of them.
  const count = Math.min(kills, steps - 1);
  vault.remove(/^(?:out|journal|old-0)$/);
  vault.restore(before.files);

  for (let round = 0; round < count; round += 1) {
    const at = Math.round(1 + ((steps - 2) * (round + 0.5) * span) / count);
    const signal = await vault.stepped(words(round), { KILL_AT: String(at) });
    demand(`the signal at step ${at} of ${steps}`, signal, 'SIGKILL');
    afterKill(vault);
    await check(vault, before);
  }
  demand('the signal of the last run', await vault.stepped(words(count)), null);
  await last(vault, before);
  demand('doctor reports ok', (await vault.result('doctor'))['ok'], true);
  return count;
}

async function run({ quick }: CheckOptions) {
  const kills = KILLS[quick ? 'quick' : 'full'];
  const plan = KILL_CASES.map((one) => [one, one.isLong ? kills * LONG_FACTOR : kills] as const);
  // The longest first: two run at a time.
  plan.sort(([, a], [, b]) => b - a);
  const killed: (readonly [string, number])[] = [];
  await inParallel(plan.length, 2, async (at) => {
    const [one, count] = plan[at] ?? [];
    if (one === undefined) return;
    const done = await killAtSteps(one, count ?? 0).catch((error: unknown) => {
      throw error instanceof CheckFailure ? new CheckFailure(`${one.what}: ${error.message}`) : error;
    });
    killed.push([`${one.what.replaceAll(' ', '_')}_kills`, done]);
  });
  return { ...Object.fromEntries(killed.toSorted()), kills_between_link_and_unlink: await killEachAfterLink() };
}

/** Loses the archive of a killed prune, so the rows that it removed are nowhere. */
async function control(): Promise<void> {
  const prune = KILL_CASES.find(({ what }) => what === 'audit prune');
  if (prune !== undefined) await killAtSteps(prune, 5, (vault) => vault.remove(/^old-/));
}

export const CHECK: Check = { number: 27, name: 'kill at steps', quick: true, runs: 'early', run, control };
