import { Command, CommanderError } from 'commander';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { LOCAL_COMMANDS } from '../../src/cli/commands/local-commands.ts';
import { memberFlags } from '../../src/cli/derive/member-flags.ts';
import { NOUNS } from '../../src/cli/nouns.ts';
import { allEntries, arrangeWords, createProgram } from '../../src/cli/program.ts';
import { OPERATIONS, type Operation } from '../../src/contract/operations.ts';
import { runMain as run } from './run-main.ts';

const ROWS = Object.entries<Operation>(OPERATIONS);
const COMMANDS = [...ROWS.map(([, row]) => row.cli.command), ...LOCAL_COMMANDS.map(({ words }) => words)];

afterEach(() => {
  vi.restoreAllMocks();
});

/** Returns all flags that a command accepts. Its help omits the global ones. */
async function flagsOf(words: readonly string[]): Promise<readonly (string | undefined)[]> {
  const command = new Command();
  await allEntries()
    .find((entry) => entry.words.join(' ') === words.join(' '))
    ?.define(command);
  return command.options.flatMap(({ long, short }) => [long, short]);
}

it.each([
  ['apps list', 'apps list'],
  ['-q apps list --all', 'apps list -q --all'],
  ['-o json --no-color apps list', 'apps list -o json --no-color'],
  ['-ojson --file=v.db apps -y key list x', 'apps key list -ojson --file=v.db -y x'],
  ['--url http://x version', 'version --url http://x'],
  ['-q exec -- echo -q', 'exec -q -- echo -q'],
  ['-q help', '--help'],
  ['-o json help tokens create', 'tokens create --help'],
  ['--yes tokens help create', 'tokens create --help'],
  ['-q nothing list', '-q nothing list'],
  ['tokens -q nothing', '-q tokens nothing'],
  ['-qo json tokens list', 'tokens list -qo json'],
  ['tokens -yo csv list', 'tokens list -yo csv'],
  ['-qx tokens list', '-qx tokens list'],
  ['-q -- tokens list', 'tokens list -q'],
  ['--quiet=true tokens list', '--quiet=true tokens list'],
  ['--url x', '--url x'],
  ['--version', '--version'],
  ['--nothing apps list', '--nothing apps list'],
])('the flags before the command in `vault %s` move behind it', (typed, expected) => {
  expect(arrangeWords(typed.split(' ')).join(' ')).toBe(expected);
});

it.each([
  ['--file nosuch.db tokens list'],
  ['--file nosuch.db tokens -- list'],
  ['--file nosuch.db -- tokens list'],
  ['--file nosuch.db -q -- tokens list'],
  ['tokens --file nosuch.db list'],
  ['tokens list --file nosuch.db'],
])('`vault %s` opens the named file', async (typed) => {
  vi.stubEnv('VAULT_API_KEY', 'key_c6e3Pht9ohs1UcETNXAtRU9aos14Mgfo');
  const { stdout, stderr, exitCode } = await run(...typed.split(' '));
  expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 2 });
  expect(stderr).toContain('nosuch.db');
  vi.unstubAllEnvs();
});

it.each([
  ['help -o json', '--help'],
  ['help tokens -q create', 'tokens create --help'],
  ['help app key list', 'app key list --help'],
  ['help init --file', 'init --help'],
  ['help init --tenant', 'init --help'],
  ['help exec -- x', 'exec --help'],
])('`vault %s` ignores global flags', (typed, expected) => {
  expect(arrangeWords(typed.split(' ')).join(' ')).toBe(expected);
});

describe('the command line', () => {
  it.each(ROWS)('%s: help names every flag, the permission and the examples of the row', async (_id, row) => {
    const { stdout, stderr, exitCode } = await run(...row.cli.command, '--help');
    expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
    expect(stdout.replace(/\s+/g, ' ')).toContain(row.summary);
    for (const flag of memberFlags(row)) expect(stdout).toContain(`--${flag.name} `);
    expect(stdout).toMatch(/\nOptions:\n(?: +\S.*\n)+\nGlobal options: --url, --file, .* \(vault help options\)\n\n/);
    expect(stdout).toContain(row.permission ?? 'any valid API key');
    for (const example of row.cli.examples) expect(stdout).toContain(example);
  });

  it.each(COMMANDS.map((words) => [words.join(' '), words] as const))(
    'help of `vault %s` fits 80 columns, and its examples use its flags',
    async (name, words) => {
      const { stdout, stderr, exitCode } = await run('help', ...words);
      expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
      expect(stdout).toMatch(new RegExp(`^Usage: vault ${name} [\\s\\S]*\\S\\n$`));
      expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
      const [, examples = ''] = stdout.replaceAll(/ \\\n +/g, ' ').split('\nExamples:\n');
      const lines = examples.replaceAll(/'[^'\n]*'/g, "''").split(/\n| -- | \| /);
      const own = lines.filter((line) => line.includes(`vault ${name}`));
      expect(own).not.toEqual([]);
      const flags = await flagsOf(words);
      for (const [flag] of own.join('\n').matchAll(/(?<=\s)--?[a-z][a-z-]*/g)) expect(flags).toContain(flag);
    },
  );

  it('refers to the global options that apply', async () => {
    expect((await run('help', 'serve')).stdout).toMatch(/^ {2}-o, --output <format> +with --dev: table/m);
    expect((await run('help', 'wait')).stdout).toContain(
      '\nGlobal options: --url, --profile, … (vault help options)\n',
    );
    expect((await run('help', 'tokens')).stdout).not.toContain('Global options');
  });

  it('lists all first words, and builds only the subcommand that is called', async () => {
    const program = createProgram(() => undefined);
    vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    await expect(program.parseAsync(['apps', 'get', '--help'], { from: 'user' })).rejects.toThrow(CommanderError);
    const named = (command: Command | undefined, name: string) => command?.commands.find((one) => one.name() === name);
    expect(named(named(program, 'apps'), 'get')?.options.length).toBeGreaterThan(5);
    expect(named(named(program, 'apps'), 'create')?.options).toEqual([]);
    expect(named(program, 'tokens')?.commands).toEqual([]);
    expect(named(program, 'serve')?.options).toEqual([]);
  });

  it('groups the overview, which fits on one screen', async () => {
    const { stdout } = await run();
    expect(await run('help')).toEqual({ stdout, stderr: '', exitCode: 0 });
    expect(stdout).toMatch(
      /Start:\n[\s\S]* {2}serve [\s\S]*Operations[^\n]*:\n {2}tokens[\s\S]*vault help [^\n]*exit-codes/,
    );
    expect(stdout.trimEnd().split('\n').length).toBeLessThanOrEqual(30);
    const all = await run('help', 'all');
    const words = (text: string) => [...text.matchAll(/^ {2}(\S+) {2}/gm)].map(([, word]) => word);
    const rest = words(all.stdout).filter((word) => !words(stdout).includes(word));
    expect(rest).toEqual(['compact', 'move', 'openapi', 'completion', 'keygen']);
    expect(new Set(words(all.stdout))).toEqual(new Set(allEntries().map((entry) => entry.words[0])));
  });

  it.each([...LOCAL_COMMANDS, ...Object.entries(NOUNS).map(([noun, row]) => ({ words: [noun], ...row }))])(
    '$words is summed up in eight words',
    ({ summary }) => {
      expect(summary.split(' ').length).toBeLessThanOrEqual(8);
    },
  );

  it.each([
    ['options', /^Global options[\s\S]*--url <url>[\s\S]*--yes/],
    ['environment', /VAULT_URL +--url[\s\S]*VAULT_API_KEY contains/],
    ['exit-codes', /^ {2}0 {4}done[\s\S]* 130 {2}interrupted\n$/],
  ])('vault help %s prints the topic', async (topic, text) => {
    const { stdout, exitCode } = await run('help', topic);
    expect([exitCode, stdout]).toEqual([0, expect.stringMatching(text)]);
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });

  it('reads `help a b` as `a b --help`', () => {
    expect(arrangeWords(['help', 'apps', 'get'])).toEqual(['apps', 'get', '--help']);
    expect(arrangeWords(['apps', 'help'])).toEqual(['apps', '--help']);
    expect(arrangeWords(['applications', 'help', 'get'])).toEqual(['applications', 'get', '--help']);
    expect(arrangeWords(['tokens', 'help', 'nope'])).toEqual(['tokens', 'nope']);
    expect(arrangeWords(['exec', 'help'])).toEqual(['exec', 'help']);
    expect(arrangeWords(['help', 'applications', 'get'])).toEqual(['applications', 'get', '--help']);
    expect(arrangeWords(['help', 'help'])).toEqual(['--help']);
    expect(arrangeWords(['help', 'tokens', 'get', 'x'])).toEqual(['tokens', 'get', '--help']);
  });

  it.each([
    ['tokns', "unknown command 'tokns'\nhint: did you mean tokens?\n"],
    ['help tokenz', "unknown command 'tokenz'\nhint: did you mean one of token, tokens?\n"],
    ['help tokens nope', "unknown command 'nope'\nhint: vault help\n"],
    ['help foo', "unknown command 'foo'\nhint: vault help\n"],
    ['aplications', "unknown command 'aplications'\nhint: did you mean applications?\n"],
    ['sevre', "unknown command 'sevre'\nhint: did you mean serve?\n"],
    ['clock show', "unknown command 'clock'\nhint: vault dev clock\n"],
    ['keys status', "unknown command 'status'\nhint: vault keys list --tenants\n"],
    ['help --bogus', "unknown option '--bogus'\n"],
    ['--bogus', "unknown option '--bogus'\n"],
    ['tokens list --dta', "unknown option '--dta'\n"],
    ['tokens create --txet=4242', "unknown option '--txet'\n"],
    ['tokens list --api-key=4242', "unknown option '--api-key'\nhint: pass the key with"],
    ['tokens get x --url', "option '--url <url>' argument missing\n"],
    ['tokens list 4242', 'too many arguments'],
    ['tokens list --cursor --page 2', 'only one of --cursor and --page can be given\n'],
    ['--url x', 'no command is given\nhint: vault --help\n'],
    ['keys list --url x', '--url does not apply: this command uses no daemon\nhint: name a vault with'],
    ['completion bash -o csv', '--output does not apply: this command prints no result'],
  ])('rejects `vault %s` with exit code 2 and readable lines', async (line, told) => {
    const { stdout, stderr, exitCode } = await run(...line.split(' '));
    expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 2 });
    expect(stderr.slice(0, told.length + 7)).toBe(`vault: ${told}`);
    expect(stderr).not.toContain('4242');
    for (const each of stderr.trimEnd().split('\n')) expect(each).toMatch(/^(vault|hint): /);
  });

  it('accepts harmless global flags after every command', async () => {
    for (const words of [['completion', 'bash'], ['openapi'], ['version']]) {
      expect(await run(...words, '--yes', '--no-color'), words.join(' ')).toMatchObject({ exitCode: 0, stderr: '' });
    }
  });

  it('no variable sets the flag of one call', async () => {
    vi.stubEnv('VAULT_DRY_RUN', '1').stubEnv('VAULT_CURL', '1');
    const sent = await run('tokens', 'create', '--type', 'token', '--data', '1', '--url', 'http://127.0.0.1:1');
    vi.unstubAllEnvs();
    expect(sent).toMatchObject({ exitCode: 2, stdout: '' });
    expect((await run('tokens', 'create', '--help')).stdout).toMatch(
      /--dry-run +check and print the request; send nothing\n/,
    );
  });

  it('splits values that contain no comma', async () => {
    const { stdout } = await run('tokens', 'list', '--type', 'card,bank', '--dry-run', '--field', 'path');
    expect(stdout).toBe('/tokens?type=card&type=bank\n');
  });
});
