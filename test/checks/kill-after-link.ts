import { linkSync, readdirSync, statSync } from 'node:fs';
import { CheckFailure } from './check.ts';
import { createSteppedVault, demand, IDS, type SteppedVault, TOKENS } from './kill-steps-vault.ts';

/** A command that gives a finished file its name by a hard link, and then removes the first name. */
interface LinkCase {
  readonly what: string;
  /** The hard link after which the command is killed. */
  readonly link: number;
  readonly words: readonly string[];
  /** The new file. */
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

/**
 * Kills a command between the link and the unlink. The new file then has two names; the next command on it must remove
 * the other one and succeed. `afterKill` is for the control.
 */
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
