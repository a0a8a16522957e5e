import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { LOCAL_COMMANDS } from '../../src/cli/commands/local-commands.ts';
import { suggest } from '../../src/cli/completion/suggest.ts';
import { memberFlags } from '../../src/cli/derive/member-flags.ts';
import { GLOBAL_FLAGS } from '../../src/cli/flags/global-flags.ts';
import { FORMATS } from '../../src/cli/output/result-view.ts';
import { openProfileStore } from '../../src/cli/profiles/profile-store.ts';
import { OPERATIONS, type Operation } from '../../src/contract/operations.ts';
import { PERMISSIONS, TRANSFORMS } from '../../src/contract/permissions.ts';
import { TOKEN_TYPES } from '../../src/contract/token-types.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const SHARED = ['--url', '--file', '--output'];
const ROWS = Object.values<Operation>(OPERATIONS);
const CLEARABLE = memberFlags(OPERATIONS.updateToken).flatMap(({ name, clearable, kind }) =>
  clearable && kind !== 'text' ? [name] : [],
);
/** The words of each command, and flags that it must have. */
const COMMANDS: readonly (readonly [words: readonly string[], flags: readonly string[]])[] = [
  ...ROWS.map((row) => [row.cli.command, [...SHARED, ...memberFlags(row).map(({ name }) => `--${name}`)]] as const),
  ...LOCAL_COMMANDS.map(({ words }) => [words, []] as const),
];

const folder = temporaryFolder();
beforeAll(async () => {
  const store = await openProfileStore({ VAULT_CONFIG_DIR: folder });
  await store.add('staging', { url: 'http://s' });
  await store.add('local', { file: '/l.db' });
});

async function values(...typed: readonly string[]): Promise<readonly string[] | 'files'> {
  const found = await suggest(typed, { VAULT_CONFIG_DIR: folder });
  return found === 'files' ? found : found.map((one) => one.value);
}

describe('suggest', () => {
  it.each(COMMANDS.map(([words, flags]) => [words.join(' '), words, flags] as const))(
    '%s: word by word, and its flags',
    async (_name, words, expected) => {
      const [noun = '', verb] = words;
      expect(await values(noun.slice(0, 2))).toContain(noun);
      if (verb !== undefined) {
        expect(await values(noun, '')).toContain(verb);
        expect(await values('help', noun, verb.slice(0, 1))).toContain(verb);
      }
      const flags = await values(...words, '-');
      expect(flags).not.toBe('files');
      for (const flag of flags) expect(flag).toMatch(/^--[a-z-]+$/);
      expect(flags).toEqual(expect.arrayContaining([...expected]));
    },
  );

  it.each([
    ['token types', ['tokens', 'create', '--type'], Object.keys(TOKEN_TYPES)],
    ['token types of a list', ['tokens', 'list', '--type'], Object.keys(TOKEN_TYPES)],
    ['application types', ['apps', 'create', '--type'], ['private', 'public', 'management', 'expiring']],
    ['permissions', ['apps', 'create', '--permission'], Object.keys(PERMISSIONS)],
    ['permissions, by an alias', ['applications', 'update', 'ID', '--permission'], Object.keys(PERMISSIONS)],
    ['formats', ['usage', '--output'], FORMATS],
    ['formats, by the short flag', ['tokens', 'list', '-o'], FORMATS],
    ['formats, before the noun', ['-o'], FORMATS],
    ['booleans', ['tokens', 'create', '--deduplicate-token', 'true', '--type'], Object.keys(TOKEN_TYPES)],
    ['profiles', ['--profile'], ['local', 'staging']],
    ['profiles of a command', ['tokens', 'list', '--profile'], ['local', 'staging']],
    ['profiles as an argument', ['profile', 'use'], ['local', 'staging']],
    ['shells', ['completion'], ['bash', 'zsh', 'fish', 'powershell']],
    ['whose key', ['env', '--as'], ['private', 'management']],
    ['the formats of an export', ['export', '--format'], ['ndjson', 'csv']],
    ['the formats of an import', ['import', '--format'], ['ndjson', 'csv']],
    ['the levels of the audit', ['serve', '--audit'], ['mutations', 'reveal', 'all']],
    ['the orders of a walk', ['tokens', 'list', '--order'], ['newest', 'oldest']],
    ['the formats of a seed', ['seed', 'apply', '--format'], ['json', 'dotenv']],
    ['the formats of a profile', ['profile', 'add', 'x', '--default-output'], FORMATS],
    ['the permissions of a change', ['apps', 'grant', 'x', '--permission'], Object.keys(PERMISSIONS)],
    ['the members to remove', ['tokens', 'patch', 'x', '--clear'], CLEARABLE],
    [
      'a value of another flag',
      ['--url', 'tokens', 'tokens', 'create', '--text', 'type', '--type'],
      Object.keys(TOKEN_TYPES),
    ],
  ])('%s', async (_what, before, expected) => {
    expect(await values(...before, '')).toEqual(expected);
  });

  it('offers files for seeds, and formats for their results', async () => {
    for (const before of [
      ['seed', 'apply'],
      ['seed', 'apply', 'a.yaml'],
      ['serve', '--seed-file'],
      ['exec', '--seed-file'],
    ]) {
      expect(await values(...before, '')).toBe('files');
    }
    expect(await values('seed', 'apply', '--out', '')).toBe('files');
    expect(await values('profile', 'use', 'staging', '')).toEqual([]);
  });

  it('offers the topics and commands of the help', async () => {
    expect(await values('hel')).toEqual(['help']);
    const found = await values('help', '');
    expect(found).toEqual(
      expect.arrayContaining(['tokens', 'init', 'all', 'options', 'environment', 'exit-codes', 'filters']),
    );
    expect(found).not.toContain('help');
    expect(await values('help', 'exi')).toEqual(['exit-codes']);
    expect(await values('')).not.toContain('filters');
  });

  it('offers the snapshots of the file', async () => {
    const file = join(folder, 'v.db');
    mkdirSync(`${file}.snapshots`);
    for (const name of ['seeded.db', 'empty.db', 'note.txt']) writeFileSync(join(`${file}.snapshots`, name), '');
    expect(await values('--file', file, 'dev', 'snapshot', 'load', '')).toEqual(['empty', 'seeded']);
    expect(await values('dev', 'snapshot', 'delete', '--file', file, 's')).toEqual(['seeded']);
    const found = await suggest(['dev', 'snapshot', 'load', ''], { VAULT_FILE: file });
    expect(found).toEqual([
      { value: 'empty', description: '' },
      { value: 'seeded', description: '' },
    ]);
  });

  it('offers the words of an access rule', async () => {
    const words = await values('apps', 'create', '--rule', '');
    for (const transform of Object.keys(TRANSFORMS)) expect(words).toContain(`transform=${transform}`);
    expect(words).toContain('container=');
  });

  it.each([
    ['the beginning of a value', ['tokens', 'create', '--type', 'card_'], ['card_number']],
    ['a value after =', ['tokens', 'create', '--type=card_'], ['--type=card_number']],
    ['an unknown flag before =', ['tokens', 'create', '--tpye=c'], []],
    ['a path', ['init', '--key-file', ''], 'files'],
    ['a path after =', ['init', '--key-file=x'], 'files'],
    ['PowerShell’s empty word', ['tokens', '""'], ['create', 'preview', 'list', 'search', 'get', 'patch', 'delete']],
    ['the fields of a query', ['tokens', 'search', 'created_'], ['created_by:', 'created_at:']],
    ['nothing for an id', ['tokens', 'get', ''], []],
    ['nothing after the argument', ['profile', 'use', 'local', ''], []],
    ['nothing for an unknown noun', ['tokns', ''], []],
    ['nothing for an unknown verb', ['tokens', 'lst', ''], []],
    ['nothing for a number', ['tokens', 'list', '--page', ''], []],
  ])('%s', async (_what, typed, expected) => {
    expect(await values(...typed)).toEqual(expected);
  });

  it('completes flags before the noun', async () => {
    expect(await values('--')).toEqual(
      Object.values(GLOBAL_FLAGS).map(({ flag }) => flag.replace(/^-\w, /, '').split(' ')[0]),
    );
  });

  it('describes each candidate in one line', async () => {
    for (const words of [[''], ['tokens', ''], ['tokens', 'create', '--'], ['serve', '--']]) {
      const found = await suggest(words, {});
      if (found === 'files') throw new Error('files are not described');
      for (const { description } of found) expect(description).toMatch(/^[^\t\n]+$/);
    }
  });
});
