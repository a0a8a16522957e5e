import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { archiveFile } from '../../src/cli/archive-file.ts';
import type { Call, Reply } from '../../src/contract/call.ts';
import { ROOT_CHAIN } from '../../src/core/audit/audit-link.ts';
import { openVaultFile } from '../../src/store/sqlite/file/open-vault-file.ts';
import { checkVaultFile, openVaultAdmin } from '../../src/vault/admin.ts';
import { openVault } from '../../src/vault/vault.ts';
import { inParallel } from '../checks/perform.ts';
import { type Command, cleanEnvironment } from '../scripts/run-script.ts';
import { makePlace, type Place, VAULT_BIN } from './cli-fixture.ts';

const KILLS = 10;
const TOKENS = 120;
const STEPPER = new URL('kill-at-step.mjs', import.meta.url).href;

let place: Place;
let cwd: string;
let env: Readonly<Record<string, string>> = {};
const inside = (name: string) => path.join(cwd, name);
const result = async (command: Command) => {
  const ran = await place.vault(command, env);
  expect(ran, String(command)).toMatchObject({ exitCode: 0 });
  return JSON.parse(ran.stdout);
};

/** Calls the file directly, because the command line needs a process for each call. */
async function onFile(calls: readonly Pick<Call, 'operation' | 'query' | 'bodyText'>[]): Promise<readonly Reply[]> {
  const key = new Uint8Array(readFileSync(inside('vault.db.key')));
  const vault = await openVault({ file: inside('vault.db'), credential: { kind: 'key_file', key } });
  const around = { apiKey: env['VAULT_API_KEY'] ?? '', mediaType: 'application/json', params: {} };
  const replies: Reply[] = [];
  try {
    await inParallel(calls.length, 64, async (at) => {
      const call = calls[at];
      if (call) replies[at] = await vault.dispatch({ ...around, ...call });
    });
  } finally {
    await vault.close();
  }
  return replies;
}

async function total(): Promise<number> {
  const [page] = await onFile([{ operation: 'listTokens', query: [['size', '1']] }]);
  return JSON.parse(page?.bodyText ?? '').pagination.total_items;
}

/** Runs a command until it ends or is killed at a step. Resolves to the signal. */
async function stepped(words: readonly string[], own: Readonly<Record<string, string>>): Promise<string | null> {
  const all = cleanEnvironment({ ...env, ...own, VAULT_BIN, NODE_OPTIONS: `--import ${STEPPER}` });
  const child = spawn(process.execPath, [VAULT_BIN, ...words], { cwd, env: all, stdio: 'ignore' });
  const [code, signal] = await once(child, 'close');
  if (signal === null) expect(code, words.join(' ')).toBe(0);
  return signal;
}

beforeEach(async () => {
  place = makePlace(onTestFinished);
  cwd = place.cwd;
  const permissions = 'token:create,token:read,token:update,token:delete';
  env = { VAULT_API_KEY: await place.application('vault', await place.init('vault'), permissions) };
});

const ids = Array.from({ length: TOKENS }, (_, n) => `token-${n}`);
async function fill(): Promise<void> {
  const bodies = ids.map((id, at) => ({ id, type: 'token', data: { at, filling: 'x'.repeat(200) } }));
  const calls = bodies.map(
    (body) => ({ operation: 'createToken', query: [], bodyText: JSON.stringify(body) }) as const,
  );
  expect(new Set((await onFile(calls)).map(({ status }) => status))).toEqual(new Set([201]));
}
const onlyWhole = async (counts: readonly number[]) => expect(counts).toContain(await total());

/** Returns the rows of the audit, by their links: those in the file, and those in archives. */
async function auditLinks(archives: readonly string[]): Promise<ReadonlySet<string>> {
  const links = new Set<string>();
  const { store } = await openVaultFile(inside('vault.db'));
  for (const { link } of await store.readAudit(ROOT_CHAIN, 0, 100_000)) links.add(Buffer.from(link).toString('base64'));
  await store.close();
  for (const name of archives) {
    const [, ...rows] = readFileSync(inside(name), 'utf8').trim().split('\n');
    for (const row of rows) links.add(JSON.parse(row)[2]);
  }
  return links;
}

/** Checks that the audit and every record are sound, and that each of `links` is in the file or in an archive. */
async function checkPruned(links: ReadonlySet<string>): Promise<void> {
  const credential = { kind: 'key_file', key: new Uint8Array(readFileSync(inside('vault.db.key'))) } as const;
  const admin = await openVaultAdmin({ file: inside('vault.db'), credential });
  const archives = readdirSync(cwd).filter((name) => /^old-\d+$/.test(name));
  for (const name of archives) {
    expect(await admin.verifyArchive(archiveFile('--archive', inside(name)))).toMatchObject({ ok: true });
  }
  expect(await admin.verifyAudit()).toMatchObject({ ok: true });
  await admin.close();
  const { ok, checked } = await checkVaultFile({ file: inside('vault.db'), credential });
  expect({ ok, tokens: checked.tokens }).toEqual({ ok: true, tokens: TOKENS });
  const found = await auditLinks(archives);
  expect([...links].filter((link) => !found.has(link))).toEqual([]);
}

let beforePrune: { readonly bytes: Buffer; readonly links: ReadonlySet<string> } | undefined;
const PRUNE = ['audit', 'prune', '--before', '2099-01-01', '--archive'] as const;

interface Case {
  readonly what: string;
  /** The number of kills. Default: KILLS. */
  readonly kills?: number;
  /** Runs before the first kill. */
  readonly prepare: () => Promise<unknown>;
  /** The share of a whole run's steps over which the kills are spread. */
  readonly span: number;
  /** Returns the command of a round. */
  readonly words: (round: number) => readonly string[];
  /** Checks the state after each kill. */
  readonly check: () => Promise<unknown>;
  /** Checks the state after the last kill and one run without a kill. */
  readonly last: () => Promise<unknown>;
}

const CASES: readonly Case[] = [
  {
    what: 'snapshot save',
    prepare: async () => {
      await fill();
      await result('snapshot save state');
    },
    span: 1,
    words: () => ['snapshot', 'save', 'state', '--replace'],
    check: async () => expect((await result('snapshot list')).data).toMatchObject([{ tokens: TOKENS }]),
    last: async () => {
      await result('reset --yes');
      expect(await result('snapshot load state --yes')).toMatchObject({ tokens: TOKENS });
    },
  },
  {
    what: 'snapshot load',
    prepare: async () => {
      await result('snapshot save empty');
      await fill();
      await result('snapshot save full');
    },
    span: 1,
    words: (round) => ['snapshot', 'load', round % 2 === 0 ? 'empty' : 'full', '--yes'],
    check: () => onlyWhole([0, TOKENS]),
    last: async () => expect(await result('snapshot load full --yes')).toMatchObject({ tokens: TOKENS }),
  },
  {
    what: 'compact',
    prepare: async () => {
      await fill();
      await result('snapshot save full');
      await result('reset --yes');
      const bodies = ids.slice(0, 10).map((id) => JSON.stringify({ id, type: 'token', data: id }));
      await onFile(bodies.map((bodyText) => ({ operation: 'createToken', query: [], bodyText }) as const));
    },
    span: 1,
    words: () => ['compact'],
    check: async () => {
      expect(await total()).toBe(10);
      expect(await result('doctor')).toMatchObject({ ok: true });
    },
    last: async () => {
      expect(await total()).toBe(10);
      expect(readdirSync(cwd).filter((name) => name.startsWith('.') || name.startsWith('vault.db-'))).toEqual([]);
    },
  },
  {
    what: 'export',
    prepare: fill,
    span: 1,
    words: () => ['export', '--plaintext', '--out', 'out'],
    check: async () => {
      if (existsSync(inside('out'))) {
        expect(readFileSync(inside('out'), 'utf8').split('\n')).toHaveLength(TOKENS + 1);
        rmSync(inside('out'));
      }
      for (const name of readdirSync(cwd)) if (/^out\.[0-9a-f-]{36}\.tmp$/.test(name)) rmSync(inside(name));
    },
    last: async () => expect(readFileSync(inside('out'), 'utf8').split('\n')).toHaveLength(TOKENS + 1),
  },
  {
    what: 'import',
    prepare: async () => {
      const lines = ids.map((_id, n) => `${JSON.stringify({ type: 'token', data: { n } })}\n`);
      writeFileSync(inside('rows'), lines.join(''));
    },
    // Rows that an earlier run created take few steps, so a later kill might come too late.
    span: 0.5,
    words: () => ['import', 'rows', '--resume', 'journal'],
    check: async () => expect(await total()).toBeLessThanOrEqual(TOKENS),
    last: async () => expect(await total()).toBe(TOKENS),
  },
  {
    what: 'audit prune',
    kills: 100,
    prepare: async () => {
      await fill();
      // More rows than one transaction removes.
      for (let times = 0; times < 2; times += 1) {
        await onFile(ids.map(() => ({ operation: 'listTokens', query: [['size', '1']] }) as const));
      }
      await expect(checkPruned(new Set(['a lost row']))).rejects.toThrow('a lost row');
      beforePrune = { bytes: readFileSync(inside('vault.db')), links: await auditLinks([]) };
    },
    span: 1,
    words: (round) => [...PRUNE, `old-${round}`],
    check: async () => {
      const { bytes = Buffer.alloc(0), links = new Set<string>() } = beforePrune ?? {};
      await checkPruned(links);
      // The next run completes a removal, and prunes the entries of the interrupted prune.
      expect(await stepped([...PRUNE, 'old-1000'], {})).toBeNull();
      await checkPruned(links);
      for (const name of readdirSync(cwd)) if (/^old-/.test(name)) rmSync(inside(name));
      writeFileSync(inside('vault.db'), bytes);
    },
    last: async () => checkPruned(beforePrune?.links ?? new Set()),
  },
];

describe.each(CASES)('$what, killed at its steps', ({ kills = KILLS, span, words, prepare, check, last }) => {
  it('leaves the old or the new state, and the next run completes', { timeout: 12_000 * kills }, async () => {
    await prepare();
    // Count the steps of a whole run, then restore the state before it.
    const state = ['vault.db', 'vault.db.key'].map((name) => [name, readFileSync(inside(name))] as const);
    expect(await stepped(words(0), { STEPS_FILE: inside('steps') })).toBeNull();
    const steps = Number(readFileSync(inside('steps'), 'utf8'));
    expect(steps).toBeGreaterThan(kills);
    for (const name of ['out', 'journal', 'old-0']) rmSync(inside(name), { force: true });
    for (const [name, bytes] of state) writeFileSync(inside(name), bytes);

    for (let round = 0; round < kills; round += 1) {
      const at = Math.round(1 + ((steps - 2) * (round + 0.5) * span) / kills);
      const signal = await stepped(words(round), { KILL_AT: String(at) });
      expect(signal, `step ${at} of ${steps}`).toBe('SIGKILL');
      await check();
    }
    expect(await stepped(words(kills), {})).toBeNull();
    await last();
    expect(await result('doctor')).toMatchObject({ ok: true });
  });
});
