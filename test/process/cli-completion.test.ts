import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { COMPLETION_SCRIPTS, type CompletionShell } from '../../src/cli/completion/completion.ts';
import { cleanEnvironment } from '../scripts/run-script.ts';
import { isThere, makePlace, RUN_VAULT } from './cli-fixture.ts';

const place = makePlace();
beforeAll(async () => {
  mkdirSync(place.inside('bin'));
  place.program('bin/vault', RUN_VAULT);
  await place.vault('profile add staging --url http://127.0.0.1:1');
  writeFileSync(place.inside('some.key'), '');
  mkdirSync(place.inside('v.db.snapshots'));
  writeFileSync(place.inside('v.db.snapshots/seeded.db'), '');
});

function runShell(program: string, words: readonly string[]): string {
  const env = cleanEnvironment({
    PATH: `${place.inside('bin')}${path.delimiter}${process.env['PATH'] ?? ''}`,
    VAULT_CONFIG_DIR: place.inside('config'),
    HOME: place.cwd,
  });
  // The shell shows stderr on the user's command line, so it must be empty.
  return execFileSync(program, [...words], { cwd: place.cwd, env, encoding: 'utf8', timeout: 15_000, stdio: 'pipe' });
}

const ASKED: readonly (readonly [line: string, answers: readonly string[]])[] = [
  ['vault tok', ['tokenize', 'tokens']],
  ['vault tokens ', ['create', 'delete', 'get', 'list', 'patch', 'preview', 'search']],
  ['vault tokens create --type ca', ['card', 'card_number']],
  ['vault apps create --permission token:re', ['token:read']],
  ['vault tokens list --profile s', ['staging']],
  ['vault help exi', ['exit-codes']],
  ['vault --file v.db dev snapshot load s', ['seeded']],
  ['vault init --key-file som', ['some.key']],
];

const LINES = ASKED.map(([line]) => line);
/** A line that separates the answers to two lines. */
const END = '@@';

/** Returns the words between the separators, found by a pattern. */
const answersIn = (out: string, pattern: RegExp) =>
  out.split(END).map((text) => [...new Set([...text.matchAll(pattern)].map((match) => match[1] ?? ''))]);

/**
 * Runs the completion of bash, which takes words from COMP_WORDS, cut at : and =, and puts suggestions in COMPREPLY.
 */
function askBash(): readonly (readonly string[])[] {
  const asks = LINES.map((line) => {
    const words = line.split(/ |(?<=:)|(?=:)/).map((word) => `'${word}'`);
    return (
      `COMPREPLY=(); COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}; _vault\n` +
      `printf '%s\\n' "\${COMPREPLY[@]}"; echo ${END}`
    );
  });
  const start = 'set -u\neval "$(vault completion bash)"\ncomplete -p vault >/dev/null';
  const out = runShell('bash', ['--norc', '-c', [start, ...asks].join('\n')]);
  const kept = LINES.map((line) => line.replace(/^.* /, '').replace(/[^:]*$/, ''));
  return answersIn(out, /^(.+)$/gm).map((words, at) => words.map((word) => (kept[at] ?? '') + word));
}

function askFish(): readonly (readonly string[])[] {
  const asks = LINES.map((line) => `complete -C '${line}'; echo ${END}`);
  const out = runShell('fish', ['--no-config', '-c', ['vault completion fish | source', ...asks].join('\n')]);
  return answersIn(out, /^([^\t\n]+)/gm);
}

/**
 * Runs the completion of zsh. It needs a terminal, which the zpty module emulates. A widget prints the suggestions. Zsh
 * completes only what is typed after it has begun to read the line.
 */
function askZsh(line: string): readonly string[] {
  const script = `
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z 'PS1=; unsetopt beep; eval "$(vault completion zsh)"; zstyle ":completion:*" list-grouped no; bindkey "^X" show'
zpty -w z 'compadd() { [[ " $* " == *" -D "* || " $* " == *" -O "* || " $* " == *" -A "* ]] && { builtin compadd "$@"; return }; local -a found; builtin compadd -O found "$@"; print -rl -- "<"\${^found}">"; builtin compadd "$@" }'
zpty -w z 'show() { }; zle -N show; zle-line-init() { print REA""DY }; zle -N zle-line-init'
zpty -r z out '*READY*'
zpty -w -n z $'${line}\\t\\x15'
zpty -w -n z $'print DO""NE\\n'
zpty -r z out '*DONE*'
print -r -- "$out"`;
  return answersIn(runShell('zsh', ['-f', '-c', script]), /<([^<>\s]+)>/g).flat();
}

const ASK: Readonly<Partial<Record<CompletionShell, () => readonly (readonly string[])[]>>> = {
  bash: askBash,
  zsh: () => LINES.map(askZsh),
  fish: askFish,
};
const SHELLS = Object.keys(COMPLETION_SCRIPTS) as CompletionShell[];
const HERE = SHELLS.filter((shell) => ASK[shell] !== undefined && process.platform !== 'win32' && isThere(shell));

describe('vault completion', () => {
  it.each(SHELLS)('%s: the script asks `vault completion suggest`, and keeps its placeholders', async (shell) => {
    const { stdout, stderr, exitCode } = await place.vault(['completion', shell]);
    expect({ stdout, stderr, exitCode }).toEqual({ stdout: COMPLETION_SCRIPTS[shell], stderr: '', exitCode: 0 });
    expect(stdout).toMatch(/completion suggest -- /);
    expect(stdout).toContain(':files');
    expect(stdout).not.toContain('${"');
  });

  it('runs in bash at least, except on Windows', () => {
    expect(HERE.includes('bash')).toBe(process.platform !== 'win32');
  });

  it.each(HERE)('%s completes', { timeout: 60_000 }, (shell) => {
    const found = ASK[shell]?.() ?? [];
    expect(ASKED.map(([line], at) => [line, [...(found[at] ?? [])].sort()])).toEqual(ASKED);
  });

  it.runIf(HERE.includes('zsh'))('zsh gets no separator for a value without a description', () => {
    const script = `compdef() { }; eval "$(vault completion zsh)"; _describe() { print -rl -- "\${values[@]}" }`;
    const ask = (line: string) =>
      runShell('zsh', ['-f', '-c', `${script}; words=(${line}); CURRENT=\${#words}; _vault`]);
    expect(ask("vault usage -o ''")).toBe('table\njson\ncsv\nndjson\n');
    expect(ask('vault usa')).toMatch(/^usage:[A-Z]/);
    expect(ask('vault tokens search created_')).toMatch(/^created_by\\:\ncreated_at\\:\n$/);
  });

  it('rejects an unknown shell', async () => {
    expect(await place.vault('completion csh')).toEqual({
      stdout: '',
      stderr: 'vault: <shell> must be one of bash, zsh, fish, powershell\n',
      exitCode: 2,
    });
  });
});
