import { type Command, CommanderError } from 'commander';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { memberFlags } from '../../src/cli/derive/member-flags.ts';
import { LOCAL_COMMANDS } from '../../src/cli/local-commands.ts';
import { main } from '../../src/cli/main.ts';
import { createProgram, withoutHelpWord } from '../../src/cli/program.ts';
import { OPERATIONS, type Operation } from '../../src/contract/operations.ts';

const ROWS = Object.entries<Operation>(OPERATIONS);

afterEach(() => {
  vi.restoreAllMocks();
});

async function run(
  ...argv: readonly string[]
): Promise<{ readonly stdout: string; readonly stderr: string; readonly exitCode: number }> {
  let stdout = '';
  let stderr = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    stdout += String(text);
    return true;
  });
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    stderr += String(text);
    return true;
  });
  const exitCode = await main(argv);
  vi.restoreAllMocks();
  return { stdout, stderr, exitCode };
}

describe('the command line', () => {
  it.each(ROWS)('%s: help names every flag, the permission and the examples of the row', async (_id, row) => {
    const { stdout, stderr, exitCode } = await run(...row.cli.command, '--help');
    expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
    expect(stdout).toContain(row.summary);
    for (const flag of memberFlags(row)) expect(stdout).toContain(`--${flag.name} `);
    for (const env of ['VAULT_URL', 'VAULT_FILE', 'VAULT_API_KEY', 'VAULT_OUTPUT']) expect(stdout).toContain(env);
    expect(stdout).toContain(row.permission);
    for (const example of row.cli.examples) expect(stdout).toContain(example);
  });

  it.each(LOCAL_COMMANDS.map((row) => [row.command.join(' '), row] as const))('%s has help', async (_words, row) => {
    const { stdout, exitCode } = await run('help', ...row.command);
    expect(exitCode).toBe(0);
    expect(stdout).toContain(`Usage: vault ${row.command.join(' ')}`);
  });

  it('lists all first words, and only makes the subcommand that is called', async () => {
    const program = createProgram(() => undefined);
    vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    await expect(program.parseAsync(['apps', 'get', '--help'], { from: 'user' })).rejects.toThrow(CommanderError);
    const named = (command: Command | undefined, name: string) => command?.commands.find((one) => one.name() === name);
    expect(named(named(program, 'apps'), 'get')?.options.length).toBeGreaterThan(5);
    expect(named(named(program, 'apps'), 'create')?.options).toEqual([]);
    expect(named(program, 'tokens')?.commands).toEqual([]);
    expect(named(program, 'serve')?.options).toEqual([]);
  });

  it('has no two subcommands of one name', () => {
    const words = [...ROWS.map(([, row]) => row.cli.command), ...LOCAL_COMMANDS.map((row) => row.command)].map((one) =>
      one.join(' '),
    );
    expect(new Set(words).size).toBe(words.length);
  });

  it('shows help without a word, and on stdout', async () => {
    const { stdout, stderr, exitCode } = await run();
    expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
    expect(stdout).toMatch(/tokens[\s\S]*apps\|applications[\s\S]*tenant[\s\S]*init[\s\S]*serve[\s\S]*wait/);
  });

  it('reads `help a b` as `a b --help`', () => {
    expect(withoutHelpWord(['help', 'apps', 'get'])).toEqual(['apps', 'get', '--help']);
    expect(withoutHelpWord(['apps', 'help'])).toEqual(['apps', 'help']);
  });

  it.each([
    ['an unknown noun', ['tokns'], "vault: unknown command 'tokns'\nhint: did you mean tokens?\n"],
    ['an unknown verb', ['tokens', 'lst'], "vault: unknown command 'lst'\nhint: did you mean list?\n"],
    ['an unknown flag, without its value', ['tokens', 'create', '--txet=4242'], "vault: unknown option '--txet'\n"],
    [
      'a noun alone',
      ['apps'],
      'vault: `vault apps` needs one more word: create, list, whoami, get, regenerate, delete',
    ],
    ['a missing argument', ['tokens', 'get'], "vault: missing required argument 'id'\n"],
    ['a word too many', ['tokens', 'list', '4242'], 'vault: too many arguments'],
    ['a flag without its value', ['tokens', 'get', 'x', '--url'], "vault: option '--url <url>' argument missing\n"],
    ['a format that is none', ['tokens', 'get', 'x', '-o', 'xml'], 'vault: --output (VAULT_OUTPUT) is one of'],
  ])('refuses %s with exit 2 and one line of fact', async (_what, argv, told) => {
    const { stdout, stderr, exitCode } = await run(...argv);
    expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 2 });
    expect(stderr.startsWith(told.slice(0, 60))).toBe(true);
    expect(stderr).not.toContain('4242');
    for (const line of stderr.trimEnd().split('\n')) expect(line).toMatch(/^(vault|hint): /);
  });

  it('takes the flags of the vault before the noun and behind the verb', async () => {
    const before = await run('--url', 'http://127.0.0.1:1', '--api-key-file', '/nowhere/at/all', 'tokens', 'list');
    const behind = await run('tokens', 'list', '--url', 'http://127.0.0.1:1', '--api-key-file', '/nowhere/at/all');
    expect(before.stderr).toContain('--api-key-file: /nowhere/at/all cannot be read (ENOENT)');
    expect(behind).toEqual(before);
  });
});
