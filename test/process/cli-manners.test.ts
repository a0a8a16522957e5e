import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { LOCAL_COMMANDS } from '../../src/cli/commands/local-commands.ts';
import { FORMATS } from '../../src/cli/output/result-view.ts';
import { argumentsOf, OPERATIONS, type Operation } from '../../src/contract/operations.ts';
import { startRunner } from '../scripts/run-script.ts';
import { HAS_TERMINALS, makePlace } from './cli-fixture.ts';
import { MORE_WORDS } from './command-words.ts';

/** Two seconds are enough on an idle machine. */
const LIMIT_MS = 5000;
const ESC = '\u001b';

const ROWS = Object.values<Operation>(OPERATIONS);
const COMMANDS: readonly (readonly string[])[] = [
  ...ROWS.map((row) => [...row.cli.command, ...argumentsOf(row).map(() => 'some-id')]),
  ...LOCAL_COMMANDS.map(({ words }) => words).filter(([word]) => word !== 'serve'),
];

const place = makePlace();
let managementKey = '';
let privateKey = '';
beforeAll(async () => {
  managementKey = await place.init('v');
  privateKey = await place.application('v', managementKey, 'token:create,token:read');
  const create = `tokens create --type card --id the-card --data '{"number":"4012888888881881"}'`;
  await place.vault(create, { VAULT_FILE: 'v.db', VAULT_API_KEY: privateKey });
});

const posix = process.platform !== 'win32';
/** Starts a process without a terminal: on POSIX in its own session, and with standard input closed, not just empty. */
const start = () =>
  startRunner({
    detached: posix,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    ...(posix && { execPath: 'sh', execArgv: ['-c', 'exec "$0" "$@" <&-', process.execPath] }),
  });
let runner = start();

/** Runs a command in a process that earlier commands used. Rejects when the command takes too long. */
async function withoutTerminal(words: readonly string[], own: Readonly<Record<string, string>> = {}) {
  const started = performance.now();
  const env = { VAULT_CONFIG_DIR: place.inside('config'), VAULT_TIMEOUT: '300ms', ...own };
  if (!runner.isFree()) runner = start();
  const timer = setTimeout(runner.kill, LIMIT_MS);
  const ran = await runner.run(words, { cwd: place.cwd, env }).finally(() => clearTimeout(timer));
  return { ...ran, milliseconds: performance.now() - started };
}

const NEEDS =
  /--[a-z-]+|missing required argument|must be one of|is one of|is needed|needs one more word|was not ready/;

describe('without a terminal no command waits for an answer', () => {
  it.each(COMMANDS.map((words) => [words.join(' '), words] as const))('vault %s', async (_line, words) => {
    const before = readdirSync(place.cwd);
    const ended = await withoutTerminal(words);
    for (const name of readdirSync(place.cwd))
      if (!before.includes(name)) rmSync(place.inside(name), { recursive: true });
    expect(ended.milliseconds).toBeLessThan(LIMIT_MS);
    expect(ended.stderr).not.toContain(ESC);
    expect(ended.stderr).not.toMatch(/Continue\?|Passphrase|API key \(/);
    if (ended.exitCode !== 0) expect(ended.stderr).toMatch(NEEDS);
  });

  const ASKS: readonly string[] = [
    'keys remove',
    'audit prune',
    'dev snapshot load',
    'dev snapshot delete',
    'dev reset',
  ];
  const NO_FILE = [
    'init',
    'exec',
    'wait',
    'env',
    'completion',
    'openapi',
    'profile',
    'dev clock',
    'dev faults',
    'dev requests',
    'keygen',
  ];
  const ON_FILE = [...ROWS.map((row) => row.cli.command), ...LOCAL_COMMANDS.map(({ words }) => words)]
    .filter((command) => command.join(' ') !== 'seed schema')
    .filter((command) => !NO_FILE.some((words) => `${command.join(' ')} `.startsWith(`${words} `)));

  it.each(ON_FILE.map((command) => [command.join(' '), command] as const))(
    'vault %s names the flag instead of asking for a passphrase or confirmation',
    async (line, command) => {
      writeFileSync(place.inside('locked.db'), readFileSync(place.inside('v.db')), { mode: 0o600 });
      writeFileSync(place.inside('x.db'), readFileSync(place.inside('v.db')), { mode: 0o600 });
      writeFileSync(place.inside('rows.ndjson'), '');
      writeFileSync(place.inside('locked.db.dev.json'), '');
      const row = ROWS.find((one) => one.cli.command.join(' ') === line);
      const file = line === 'restore' ? 'restored.db' : 'locked.db';
      const words = [...command, ...(row ? argumentsOf(row) : []).map(() => 'some-id'), ...(MORE_WORDS[line] ?? [])];
      const ended = await withoutTerminal(
        words.map((word) => word.replace('<folder>', place.cwd)),
        { VAULT_FILE: file, VAULT_API_KEY: managementKey },
      );
      expect(ended).toMatchObject({ exitCode: 2, stdout: '' });
      expect(ended.milliseconds).toBeLessThan(LIMIT_MS);
      const asks = row?.cli.confirm !== undefined || ASKS.includes(line);
      expect(ended.stderr).toMatch(
        asks ? /^hint: pass --yes to confirm\./m : /^hint: set --key-file .* or --passphrase-file/m,
      );
      expect(ended.stderr).not.toMatch(/Continue\?|Passphrase of/);
    },
  );
});

const SHOWN: readonly (readonly string[])[] = [
  ...FORMATS.map((format) => ['tokens', 'list', '-o', format]),
  ['tokens', 'get', 'the-card', '-o', 'table'],
  ['--help'],
  ['tokens', 'create', '--help'],
  ['tokens', 'get', 'no-such-token'],
];

describe('colour', () => {
  const env = () => ({ VAULT_FILE: 'v.db', VAULT_API_KEY: privateKey });

  it.each(SHOWN.map((words) => [words.join(' '), words] as const))(
    'a pipe gets no escape byte: vault %s',
    async (_line, words) => {
      const forced = { TERM: 'xterm-256color', FORCE_COLOR: '3', CLICOLOR_FORCE: '1' };
      const { stdout, stderr } = await place.vault(words, { ...env(), ...forced });
      expect(stdout + stderr).not.toBe('');
      expect(stdout + stderr).not.toContain(ESC);
    },
  );

  it.runIf(HAS_TERMINALS).each([
    ['NO_COLOR', [], { NO_COLOR: '1' }],
    ['--no-color', ['--no-color'], {}],
    ['TERM=dumb', [], { TERM: 'dumb' }],
  ])('%s: a terminal gets no escape byte', { timeout: 60_000 }, async (_what, flags, own) => {
    const lines = SHOWN.map((words) => (words.includes('--help') ? words : [...words, ...flags]).join(' '));
    const all = await Promise.all(lines.map((line) => place.onTerminal(line, [], { ...env(), ...own })));
    for (const ended of all) expect(ended.stdout).not.toContain(ESC);
  });

  it.runIf(HAS_TERMINALS)('appears in a table on a terminal', async () => {
    expect((await place.onTerminal('tokens list', [], env())).stdout).toContain(`${ESC}[1mID`);
  });
});
