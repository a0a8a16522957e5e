import { expect, it } from 'vitest';
import { COMPLETION_SCRIPTS } from '../../src/cli/completion/completion.ts';
import { inOwnName, startedBy } from '../../src/cli/help/in-own-name.ts';

it.each([
  ['vault: no vault at v.db', 'token-vault: no vault at v.db'],
  ['Usage: vault tokens create [options]', 'Usage: token-vault tokens create [options]'],
  ['hint: create one with `vault init`', 'hint: create one with `token-vault init`'],
  ['hint: vault --version', 'hint: token-vault --version'],
  ['More: vault help COMMAND, and vault help options', 'More: token-vault help COMMAND, and token-vault help options'],
  ['  eval "$(vault completion bash)"', '  eval "$(token-vault completion bash)"'],
  ['KEY="$OTHER" vault …', 'KEY="$OTHER" token-vault …'],
  ['the vault is older than its anchor', 'the vault is older than its anchor'],
  ['an error of this vault in v.db', 'an error of this vault in v.db'],
  ['A token vault in one file.', 'A token vault in one file.'],
  ['GRANT USAGE ON SCHEMA vault TO daemon', 'GRANT USAGE ON SCHEMA vault TO daemon'],
  ['~/.config/fish/completions/vault.fish', '~/.config/fish/completions/vault.fish'],
])('as token-vault: %s', (text, expected) => {
  expect(inOwnName(text, 'token-vault')).toBe(expected);
  expect(inOwnName(text, 'vault')).toBe(text);
});

it.each([
  ['bash', 'complete -F _vault token-vault\n'],
  ['zsh', 'compdef _vault token-vault\n'],
  ['fish', 'complete -c token-vault -f'],
  ['powershell', '-CommandName token-vault -ScriptBlock'],
] as const)('the completion of %s completes token-vault', (shell, line) => {
  expect(inOwnName(COMPLETION_SCRIPTS[shell], 'token-vault')).toContain(line);
});

it.each([
  ['/usr/bin/vault', undefined, 'vault'],
  ['/usr/bin/token-vault', undefined, 'token-vault'],
  ['/home/me/.npm/_npx/1f/node_modules/.bin/token-vault', 'exec', 'npx token-vault'],
  ['C:\\app\\node_modules\\token-vault\\bin\\token-vault.cjs', 'exec', 'npx token-vault'],
  ['/app/node_modules/.bin/vault', 'run-script', 'vault'],
  ['/app/node_modules/.bin/vault', 'exec', 'npx token-vault'],
  ['/app/bin/vault.ts', 'exec', 'vault'],
  ['/app/node_modules/vitest/vitest.mjs', 'exec', 'vault'],
])('%s of npm %s is started by %s', (startedAs, command, expected) => {
  expect(startedBy(startedAs, command)).toBe(expected);
});
