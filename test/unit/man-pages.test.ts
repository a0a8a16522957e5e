import { writeFileSync } from 'node:fs';
import { type Command, CommanderError, type Option } from 'commander';
import { afterEach, describe, expect, it, vi } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { manPages } from '../../scripts/man-pages.ts';
import { LOCAL_COMMANDS } from '../../src/cli/commands/local-commands.ts';
import { globalNames } from '../../src/cli/help/help.ts';
import { createProgram } from '../../src/cli/program.ts';
import { OPERATIONS, type Operation } from '../../src/contract/operations.ts';

const COMMANDS = [
  ...Object.values<Operation>(OPERATIONS)
    .filter(({ cli }) => cli.sharing === undefined)
    .map(({ cli }) => cli.command),
  ...LOCAL_COMMANDS.map(({ words }) => words),
].map((words) => [words.join(' '), words] as const);

const pages = await manPages();
const read = (name: string) => (pages.get(name) ?? '').replaceAll('\\-', '-').replaceAll(/\\f[BIR]/g, '');

/** Returns a command with its help, as `--help` makes it. */
async function helpOf(words: readonly string[]): Promise<{ readonly command: Command; readonly help: string }> {
  let help = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text, ...rest: readonly unknown[]) => {
    help += String(text);
    const done = rest.at(-1);
    if (typeof done === 'function') done();
    return true;
  });
  const program = createProgram(() => undefined);
  await expect(program.parseAsync([...words, '--help'], { from: 'user' })).rejects.toThrow(CommanderError);
  const command = words.reduce<Command>(
    (parent, word) => parent.commands.find((one) => one.name() === word) ?? parent,
    program,
  );
  return { command, help };
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe('the man pages', () => {
  it.each(COMMANDS)('vault %s: the page has its arguments, options and examples', async (_line, words) => {
    const { command, help } = await helpOf(words);
    const page = read(`vault-${words.join('-')}.1`);
    const [before = '', globals = ''] = page.split('.SH GLOBAL OPTIONS\n');
    const hidden = globalNames(command);
    const isHidden = ({ short, long }: Option) => hidden.includes(short ?? long ?? '');
    expect(help).toContain(`Usage: vault ${words.join(' ')} [options]`);
    for (const option of command.options.filter((each) => !each.hidden)) {
      if (isHidden(option)) expect(globals).toMatch(new RegExp(`(^| )${option.short ?? option.long}[,\\n]`));
      else expect(before).toContain(`.TP\n${option.flags}\n`);
    }
    for (const argument of command.registeredArguments) expect(before).toContain(`.TP\n${argument.name()}\n`);
    expect(page).toContain(`.SH SYNOPSIS\n.B vault ${words.join(' ')} `);
    const examples = help.split('\nExamples:\n')[1]?.trim().split('\n').length;
    expect(page.split('.SH EXAMPLES\n.PP\n.nf\n')[1]?.split('\n.fi')[0]?.split('\n')).toHaveLength(
      examples ?? Number.NaN,
    );
  });

  it('vault(1) lists every command, the global options, their variables and the exit codes', () => {
    const page = read('vault.1');
    for (const [line, words] of COMMANDS) {
      expect(page).toContain(`.TP\nvault ${line}\n`);
      expect(page).toMatch(new RegExp(`^vault-${words.join('-')}\\(1\\),?$`, 'm'));
    }
    expect(page).toMatch(
      /\.SH GLOBAL OPTIONS\n[\s\S]*--url <url>\n[\s\S]*\.SH ENVIRONMENT\n[\s\S]*VAULT_URL\n[\s\S]*\.SH EXIT STATUS\n[\s\S]*130\ninterrupted/,
    );
  });

  it('package.json names all of them, and the package holds them', () => {
    const names = [...pages.keys()].map((name) => `dist/man/${name}`).sort();
    const file = new URL('../../package.json', import.meta.url);
    if (process.env['UPDATE_DOCS']) writeFileSync(file, `${JSON.stringify({ ...manifest, man: names }, null, 2)}\n`);
    expect(manifest.man.toSorted()).toEqual(names);
    expect(pages.size).toBe(COMMANDS.length + 2);
    expect(manifest.files.filter((each) => /dist$|man/.test(each))).toEqual(['dist']);
  });

  it('roff requests and special characters are escaped', () => {
    expect(pages.get('vault-tokens-create.1')).toContain(
      String.raw`vault tokens create \-\-type token \-\-text \- \-\-mask \(aq{{ data | reveal_last: 2 }}\(aq`,
    );
    expect(pages.get('vault-exec.1')).toContain(String.raw`sh \-c \(aqvault tokens get \(dq$TOKEN_VISA\(dq\(aq`);
    expect(pages.get('vault-serve.1')).toContain(`ready.json \\e\n`);
    expect([...pages.values()].join('')).not.toMatch(/^'|[^ -~\n]/m);
  });
});
