import { writeFileSync } from 'node:fs';
import { CheckFailure } from './check.ts';
import { demand, type Files, IDS, type SteppedVault, TOKENS } from './kill-steps-vault.ts';

interface Before {
  readonly files: Files;
  readonly links: ReadonlySet<string>;
}

export interface KillCase {
  readonly what: string;
  /** Whether `.ci/run` kills it at 60 steps rather than at 6. */
  readonly isLong?: true;
  readonly prepare: (vault: SteppedVault) => Promise<unknown>;
  /** The share of a whole run's steps over which the kills are spread. */
  readonly span: number;
  readonly words: (round: number) => readonly string[];
  readonly check: (vault: SteppedVault, before: Before) => Promise<unknown>;
  /** Checks the state after the last kill and one run without a kill. */
  readonly last: (vault: SteppedVault, before: Before) => Promise<unknown>;
}

const lineCount = (vault: SteppedVault) => vault.read('out').split('\n').length;
const asDevVault = (vault: SteppedVault) => writeFileSync(vault.inside('vault.db.dev.json'), '{}');
const PRUNED_TOKENS = 2 * TOKENS;
const PRUNE = ['audit', 'prune', '--yes', '--before', '1ms', '--archive'] as const;

async function checkPruned(vault: SteppedVault, { links }: Before): Promise<void> {
  await vault.checkRecords(PRUNED_TOKENS);
  const found = await vault.auditLinks();
  demand('the lost rows of the audit', [...links].filter((link) => !found.has(link)).length, 0);
}

export const KILL_CASES: readonly KillCase[] = [
  {
    what: 'snapshot save',
    prepare: async (vault) => {
      asDevVault(vault);
      await vault.create(IDS);
      await vault.result('dev snapshot save state');
    },
    span: 1,
    words: () => ['dev', 'snapshot', 'save', 'state', '--replace'],
    check: async (vault) => {
      const { data } = await vault.result('dev snapshot list');
      const tokens = Array.isArray(data) ? data.map((one) => one.tokens) : data;
      demand('the tokens of the snapshots', tokens, [TOKENS]);
    },
    last: async (vault) => {
      await vault.result('dev reset --yes');
      demand('the loaded tokens', (await vault.result('dev snapshot load state --yes'))['tokens'], TOKENS);
    },
  },
  {
    what: 'snapshot load',
    prepare: async (vault) => {
      asDevVault(vault);
      await vault.result('dev snapshot save empty');
      await vault.create(IDS);
      await vault.result('dev snapshot save full');
    },
    span: 1,
    words: (round) => ['dev', 'snapshot', 'load', round % 2 === 0 ? 'empty' : 'full', '--yes'],
    check: async (vault) => {
      const tokens = await vault.total();
      if (tokens !== 0) demand('the tokens of a vault that is not empty', tokens, TOKENS);
    },
    last: async (vault) =>
      demand('the loaded tokens', (await vault.result('dev snapshot load full --yes'))['tokens'], TOKENS),
  },
  {
    what: 'compact',
    isLong: true,
    prepare: async (vault) => {
      await vault.create(IDS);
      await vault.result('dev reset --yes');
      await vault.create(IDS.slice(0, 10));
    },
    span: 1,
    words: () => ['compact'],
    check: async (vault) => {
      demand('the tokens', await vault.total(), 10);
      demand('doctor reports ok', (await vault.result('doctor'))['ok'], true);
    },
    last: async (vault) => {
      demand('the tokens', await vault.total(), 10);
      const leftovers = vault.names().filter((name) => name.startsWith('.') || name.startsWith('vault.db-'));
      demand('the leftovers', leftovers, []);
    },
  },
  {
    what: 'export',
    prepare: (vault) => vault.create(IDS),
    span: 1,
    words: () => ['export', '--plaintext', '--out', 'out'],
    check: async (vault) => {
      if (vault.names().includes('out')) demand('the lines of the export', lineCount(vault), TOKENS + 1);
      vault.remove(/^out(?:\.[0-9a-f-]{36}\.tmp)?$/);
    },
    last: async (vault) => demand('the lines of the export', lineCount(vault), TOKENS + 1),
  },
  {
    what: 'import',
    prepare: async (vault) => {
      const lines = IDS.map((_id, n) => `${JSON.stringify({ type: 'token', data: { n } })}\n`);
      writeFileSync(vault.inside('rows'), lines.join(''));
    },
    // Rows that an earlier run created take few steps, so a later kill might come too late.
    span: 0.5,
    words: () => ['import', 'rows', '--resume', 'journal'],
    check: async (vault) => {
      const tokens = await vault.total();
      if (tokens > TOKENS) throw new CheckFailure(`${tokens} tokens of ${TOKENS} rows`);
    },
    last: async (vault) => demand('the tokens', await vault.total(), TOKENS),
  },
  {
    what: 'audit prune',
    isLong: true,
    prepare: async (vault) => {
      // More rows than one transaction removes.
      for (let times = 0; times < PRUNED_TOKENS / TOKENS; times += 1)
        await vault.create(IDS.map((id) => `${id}-${times}`));
    },
    span: 1,
    words: (round) => [...PRUNE, `old-${round}`],
    check: async (vault, before) => {
      await checkPruned(vault, before);
      // The next run completes a removal, and prunes the entries of the interrupted prune.
      await vault.result([...PRUNE, 'old-1000']);
      await checkPruned(vault, before);
      vault.remove(/^old-/);
      vault.restore(before.files);
    },
    last: checkPruned,
  },
];
