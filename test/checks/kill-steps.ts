import { linkSync, readdirSync, statSync } from 'node:fs';
import { type Check, CheckFailure, type CheckOptions } from './check.ts';
import { KILL_CASES, type KillCase } from './kill-steps-cases.ts';
import { createSteppedVault, demand, IDS, type SteppedVault, TOKENS } from './kill-steps-vault.ts';
import { inParallel } from './perform.ts';

/** A command that gives a finished file its name by a hard link, and then removes the first name. */
interface LinkCase {
  readonly what: string;
  readonly link: number;
  readonly words: readonly string[];
  readonly made: string;
  /** A command that must succeed after the kill. Default: doctor on the new file. */
  readonly next?: readonly string[];
}

const KEY = ['--key-file', 'vault.db.key'] as const;
const MOVE = ['move', '--from', 'vault.db', '--to', 'new.db', ...KEY] as const;

const LINK_CASES: readonly LinkCase[] = [
  { what: 'init', link: 1, words: ['init', '--file', 'new.db', ...KEY], made: 'new.db' },
  { what: 'restore', link: 1, words: ['restore', 'copy.db', '--file', 'new.db', ...KEY], made: 'new.db' },
  { what: 'backup', link: 1, words: ['backup', 'new.db', ...KEY], made: 'new.db' },
  { what: 'the copy of move', link: 1, words: MOVE, made: 'new.db.moving', next: MOVE },
  { what: 'the last step of move', link: 2, words: MOVE, made: 'new.db', next: MOVE },
];

/** Kills a command between link and unlink. The next command must remove the second name and succeed. */
async function killAfterLink(
  { link, words, made, next }: LinkCase,
  afterKill: (vault: SteppedVault) => void = () => undefined,
): Promise<void> {
  using vault = await createSteppedVault();
  await vault.create(IDS);
  await vault.result(['backup', 'copy.db', ...KEY]);
  const signal = await vault.stepped(words, { KILL_AFTER_LINK: String(link) });
  demand('the signal', signal, 'SIGKILL');
  demand('the names of the killed command', statSync(vault.inside(made)).nlink, 2);
  afterKill(vault);
  if (next !== undefined) await vault.result(next);
  const { ok, checked } = await vault.result(['doctor', '--file', 'new.db', ...KEY]);
  demand('doctor reports ok', ok, true);
  const { tokens } = checked as { readonly tokens: number };
  if (tokens !== 0 || words[0] !== 'init') demand('the tokens', tokens, TOKENS);
  demand('the names', statSync(vault.inside('new.db')).nlink, 1);
  demand(
    'the drafts',
    readdirSync(vault.inside('.')).filter((name) => /\.new$|\.moving$/.test(name)),
    [],
  );
}

/** The control: gives the file a name that no command leaves. The next command must refuse it. */
async function killAndLink(one: LinkCase): Promise<void> {
  const refused = killAfterLink(one, (vault) => linkSync(vault.inside(one.made), vault.inside('other.db')));
  const message = await refused.then(
    () => 'nothing',
    (error: Error) => error.message,
  );
  if (!/names of the same file|was moved away|is not empty/.test(message)) {
    throw new CheckFailure(`${one.what}: another name of the file was answered with ${message}`);
  }
}

export async function killEachAfterLink(): Promise<number> {
  for (const one of LINK_CASES) {
    await killAfterLink(one).catch((error: unknown) => {
      throw error instanceof CheckFailure ? new CheckFailure(`${one.what}: ${error.message}`) : error;
    });
    await killAndLink(one);
  }
  return LINK_CASES.length;
}

const LONG_FACTOR = 10;
const KILLS = { quick: 6, full: 50 } as const;
/** A command with fewer steps writes nothing, or the steps are not seen. */
const MIN_STEPS = 5;

/** Kills a command at steps spread over a run. Each time the old or new state remains, and the next run completes. */
async function killAtSteps(
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
  let links = 0;
  await inParallel(plan.length + 1, 2, async (at) => {
    const [one, count] = plan[at] ?? [];
    if (one === undefined) {
      links = await killEachAfterLink();
      return;
    }
    const done = await killAtSteps(one, count ?? 0).catch((error: unknown) => {
      throw error instanceof CheckFailure ? new CheckFailure(`${one.what}: ${error.message}`) : error;
    });
    killed.push([`${one.what.replaceAll(' ', '_')}_kills`, done]);
  });
  return { ...Object.fromEntries(killed.toSorted()), kills_between_link_and_unlink: links };
}

/** Loses the archive of a killed prune, so the rows that it removed are nowhere. */
async function control(): Promise<void> {
  const prune = KILL_CASES.find(({ what }) => what === 'audit prune');
  if (prune !== undefined) await killAtSteps(prune, 5, (vault) => vault.remove(/^old-/));
}

export const CHECK: Check = { number: 27, name: 'kill at steps', quick: true, runs: 'early', run, control };
