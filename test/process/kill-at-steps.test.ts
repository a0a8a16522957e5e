import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cleanEnvironment, runVault } from '../scripts/run-script.ts';
import { VAULT_BIN } from './cli-fixture.ts';
import { makeTokens } from './tokens-on-file.ts';

const KILLS = 10;
const TOKENS = 120;
const RULE = 'container=/ transform=reveal permissions=token:create,token:read,token:update,token:delete';
const STEPPER = new URL('kill-at-step.mjs', import.meta.url).href;

let cwd = '';
let env: Readonly<Record<string, string>> = {};
const inside = (name: string) => path.join(cwd, name);
const result = async (words: readonly string[]) => {
  const ran = await runVault(words, { cwd, env });
  expect(ran, words.join(' ')).toMatchObject({ exitCode: 0 });
  return JSON.parse(ran.stdout);
};
const total = async () => (await result(['tokens', 'list', '--size', '1'])).pagination.total_items;

/** Runs a command to its end, or to the step at which it is killed; answers the signal. */
async function stepped(words: readonly string[], own: Readonly<Record<string, string>>): Promise<string | null> {
  const all = cleanEnvironment({ ...env, ...own, VAULT_BIN, NODE_OPTIONS: `--import ${STEPPER}` });
  const child = spawn(process.execPath, [VAULT_BIN, ...words], { cwd, env: all, stdio: 'ignore' });
  const [code, signal] = await once(child, 'close');
  if (signal === null) expect(code, words.join(' ')).toBe(0);
  return signal;
}

beforeEach(async () => {
  cwd = mkdtempSync(path.join(tmpdir(), 'vault-steps-'));
  const { application } = JSON.parse((await runVault(['init'], { cwd })).stdout);
  env = { VAULT_API_KEY: application.key };
  const words = ['apps', 'create', '--name', 'a', '--type', 'private', '--rule', RULE, '--field', 'key'];
  env = { VAULT_API_KEY: (await runVault(words, { cwd, env })).stdout.trim() };
});
afterEach(() => rmSync(cwd, { recursive: true, force: true }));

const ids = Array.from({ length: TOKENS }, (_, n) => `token-${n}`);
const fill = () =>
  makeTokens(inside('vault.db'), readFileSync(inside('vault.db.key')), env['VAULT_API_KEY'] ?? '', ids);
const onlyWhole = async (counts: readonly number[]) => expect(counts).toContain(await total());

interface Case {
  readonly what: string;
  /** Before the first kill. */
  readonly prepare: () => Promise<unknown>;
  /** Which part of a whole run's steps the kills are spread over. */
  readonly span: number;
  /** Of the round with this number. */
  readonly words: (round: number) => readonly string[];
  /** After each kill: what is whole. */
  readonly check: () => Promise<unknown>;
  /** After the last kill, and after one run that was left alone. */
  readonly last: () => Promise<unknown>;
}

const CASES: readonly Case[] = [
  {
    what: 'snapshot save',
    prepare: async () => {
      await fill();
      await result(['snapshot', 'save', 'state']);
    },
    span: 1,
    words: () => ['snapshot', 'save', 'state', '--replace'],
    check: async () => expect((await result(['snapshot', 'list'])).data).toMatchObject([{ tokens: TOKENS }]),
    last: async () => {
      await result(['reset', '--yes']);
      expect(await result(['snapshot', 'load', 'state', '--yes'])).toMatchObject({ tokens: TOKENS });
    },
  },
  {
    what: 'snapshot load',
    prepare: async () => {
      await result(['snapshot', 'save', 'empty']);
      await fill();
      await result(['snapshot', 'save', 'full']);
    },
    span: 1,
    words: (round) => ['snapshot', 'load', round % 2 === 0 ? 'empty' : 'full', '--yes'],
    check: () => onlyWhole([0, TOKENS]),
    last: async () => expect(await result(['snapshot', 'load', 'full', '--yes'])).toMatchObject({ tokens: TOKENS }),
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
      for (const name of readdirSync(cwd)) if (/^out\.\d+\.tmp$/.test(name)) rmSync(inside(name));
    },
    last: async () => expect(readFileSync(inside('out'), 'utf8').split('\n')).toHaveLength(TOKENS + 1),
  },
  {
    what: 'import',
    prepare: async () => {
      const lines = ids.map((_id, n) => `${JSON.stringify({ type: 'token', data: { n } })}\n`);
      writeFileSync(inside('rows'), lines.join(''));
    },
    // A row that a run before has made takes few steps.
    span: 0.5,
    words: () => ['import', 'rows', '--resume', 'journal'],
    check: async () => expect(await total()).toBeLessThanOrEqual(TOKENS),
    last: async () => expect(await total()).toBe(TOKENS),
  },
];

describe.each(CASES)('$what, killed at its steps', ({ span, words, prepare, check, last }) => {
  it('leaves what was there or what it makes, and the next run is whole', { timeout: 120_000 }, async () => {
    await prepare();
    // The steps of a whole run are counted, and what it made is taken back.
    const state = ['vault.db', 'vault.db.key'].map((name) => [name, readFileSync(inside(name))] as const);
    expect(await stepped(words(0), { STEPS_FILE: inside('steps') })).toBeNull();
    const steps = Number(readFileSync(inside('steps'), 'utf8'));
    expect(steps).toBeGreaterThan(KILLS);
    for (const name of ['out', 'journal']) rmSync(inside(name), { force: true });
    for (const [name, bytes] of state) writeFileSync(inside(name), bytes);

    for (let round = 0; round < KILLS; round += 1) {
      const at = Math.round(1 + ((steps - 2) * (round + 0.5) * span) / KILLS);
      const signal = await stepped(words(round), { KILL_AT: String(at) });
      expect(signal, `step ${at} of ${steps}`).toBe('SIGKILL');
      await check();
    }
    expect(await stepped(words(KILLS), {})).toBeNull();
    await last();
    expect(await result(['doctor'])).toMatchObject({ ok: true });
  });
});
