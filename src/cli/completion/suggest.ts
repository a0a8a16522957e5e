import { Command, type Option } from 'commander';
import { OPERATIONS, type Operation } from '../../contract/operations.ts';
import type { Schema } from '../../contract/schema.ts';
import { TOKEN_TYPES } from '../../contract/token-types.ts';
import { AUDIT_LEVELS } from '../../core/audit/audit-level.ts';
import { QUERY_FIELDS } from '../../core/search/parse-query.ts';
import { KEY_NAMES, SHELLS } from '../commands/dev/env.ts';
import { OUT_FORMATS } from '../commands/seed/seed-output.ts';
import { clearableFlags } from '../derive/clearing.ts';
import { memberFlags } from '../derive/member-flags.ts';
import { addFlags, type Environment, GLOBAL_FLAGS } from '../flags/global-flags.ts';
import { HELP_TOPICS } from '../help/help.ts';
import { NOUNS, type Nouns, nounOf } from '../nouns.ts';
import { FORMATS } from '../output/result-view.ts';
import { allEntries, type Entry } from '../program.ts';
import { COMPLETION_SCRIPTS } from './completion.ts';

/** One suggestion for the word at the cursor. */
export interface Suggestion {
  readonly value: string;
  /** One line without tabs. */
  readonly description: string;
}

/** Completions of the current word, or a request for file names. */
export type Suggestions = readonly Suggestion[] | 'files';

/**
 * Resolves to completions of the last word of `typed`. Reads only the command tables and the names of profiles and
 * snapshots, because a shell calls it on every press of the Tab key.
 */
export async function suggest(typed: readonly string[], env: Environment): Promise<Suggestions> {
  const last = typed.at(-1) ?? '';
  // The PowerShell script passes an empty argument as two quotation marks.
  const current = last === '""' ? '' : last;
  const position = await findPosition(typed.slice(0, -1));
  const file = position.file ?? env['VAULT_FILE'] ?? 'vault.db';
  const fromSource = (source: ValueSource, begun: string) => valuesOf(source, begun, env, file);
  if (position.flag !== undefined) return fromSource(flagValues(position.words, position.flag), current);
  const [name = '', value] = splitAtEquals(current);
  if (value !== undefined) {
    const flag = position.options.find((option) => option.long === name);
    const found = flag === undefined ? [] : await fromSource(flagValues(position.words, flag), value);
    return found === 'files' ? found : found.map((one) => ({ ...one, value: `${name}=${one.value}` }));
  }
  if (current.startsWith('-')) return starting(current, position.options.map(describeFlag));
  if (position.entry === undefined) {
    const isFirst = position.words.length === 0;
    const more = isFirst && (typed[0] === 'help' && typed.length > 1 ? TOPIC_WORDS : ROOT_WORDS);
    return starting(current, [...nextWords(position.words), ...(more || [])]);
  }
  return fromSource(argumentValues(position.words, position.given), current);
}

/** The words that are neither commands nor nouns. */
const ROOT_WORDS: readonly Suggestion[] = [
  { value: 'help', description: 'Show the help of a command or a topic' },
  { value: 'version', description: 'Show the version' },
];
const TOPIC_WORDS: readonly Suggestion[] = HELP_TOPICS.map((value) => ({ value, description: 'A topic of the help' }));

/**
 * Parses the words before the cursor. Resolves to the words of the subcommand (with aliases resolved), its entry and
 * its options, the flag whose value is at the cursor, and the number of arguments.
 */
async function findPosition(before: readonly string[]) {
  const typed = before[0] === 'help' ? before.slice(1) : before;
  const root = new Command();
  addFlags(root, GLOBAL_FLAGS);
  const words: string[] = [];
  let options: readonly Option[] = root.options;
  let entry: Entry | undefined;
  let flag: Option | undefined;
  let given = 0;
  let file: string | undefined;
  for (const word of typed) {
    if (flag !== undefined) {
      if (flag.long === '--file') file = word;
      flag = undefined;
    } else if (word.startsWith('-'))
      flag = options.find(({ long, short, required }) => required && (long === word || short === word));
    else if (entry !== undefined) given += 1;
    else {
      words.push(nounOf(word, words.reduce(innerNouns, NOUNS)) ?? word);
      entry = allEntries().find((one) => one.words.join(' ') === words.join(' '));
      const command = new Command();
      await entry?.define(command);
      if (entry !== undefined) options = command.options;
    }
  }
  return { words, entry, options, flag, given, file };
}

function splitAtEquals(word: string): readonly [string, string?] {
  const at = word.startsWith('--') ? word.indexOf('=') : -1;
  return at < 0 ? [word] : [word.slice(0, at), word.slice(at + 1)];
}

/** Returns the possible next words of a command: nouns, and the last words of commands. */
function nextWords(words: readonly string[]): readonly Suggestion[] {
  const { length } = words;
  const entries = allEntries().filter(
    (entry) => entry.words.length === length + 1 && words.every((word, at) => entry.words[at] === word),
  );
  const nouns = Object.entries(words.reduce(innerNouns, NOUNS));
  return [
    ...nouns.map(([value, { summary }]) => ({ value, description: summary })),
    ...entries.map((entry) => ({ value: entry.words.at(-1) ?? '', description: entry.summary })),
  ];
}

function innerNouns(nouns: Nouns, word: string): Nouns {
  return (Object.hasOwn(nouns, word) && nouns[word]?.nouns) || {};
}

function describeFlag(option: Option): Suggestion {
  const [first = ''] = option.description.split(/[.;([\n]/);
  return { value: option.long ?? option.flags, description: first.trim() };
}

async function valuesOf(source: ValueSource, current: string, env: Environment, file: string): Promise<Suggestions> {
  if (source === 'files') return source;
  const values = typeof source === 'string' ? await NAMES[source](env, file) : source;
  return values.filter((value) => value.startsWith(current)).map((value) => ({ value, description: '' }));
}

/** The sources of names on the disk. */
const NAMES = {
  async profiles(env: Environment): Promise<readonly string[]> {
    const { openProfileStore } = await import('../profiles/profile-store.ts');
    return (await openProfileStore(env)).list();
  },
  async snapshots(_env: Environment, file: string): Promise<readonly string[]> {
    return (await import('../../vault/snapshots.ts')).snapshotNames(file);
  },
} as const;

function starting(current: string, all: readonly Suggestion[]): readonly Suggestion[] {
  return all.filter(({ value }) => value.startsWith(current));
}

/** The source of a word's values: a fixed list, names on the disk, or files. */
export type ValueSource = readonly string[] | keyof typeof NAMES | 'files';

const OWN_FLAGS: Readonly<Record<string, ValueSource>> = {
  '--output': FORMATS,
  '--profile': 'profiles',
  '--shell': Object.keys(SHELLS),
  '--as': KEY_NAMES,
  '--default-output': FORMATS,
  '--verify': ['full'],
  '--format': ['ndjson', 'csv'],
  'serve --audit': Object.keys(AUDIT_LEVELS),
  'seed apply --format': OUT_FORMATS,
  'import --type': Object.keys(TOKEN_TYPES),
  'audit list --action': Object.keys(OPERATIONS),
};

const QUERY_STARTS = QUERY_FIELDS.map((field) => (field === 'metadata' ? 'metadata.' : `${field}:`));

const OWN_ARGUMENTS: Readonly<Record<string, ValueSource>> = {
  completion: Object.keys(COMPLETION_SCRIPTS),
  'seed apply': 'files',
  'tokens search': QUERY_STARTS,
  'profile use': 'profiles',
  'profile remove': 'profiles',
  'dev snapshot save': 'snapshots',
  'dev snapshot load': 'snapshots',
  'dev snapshot delete': 'snapshots',
};

/** Returns the source of a flag's values: its schema, files for a path, or an empty list. */
function flagValues(words: readonly string[], flag: Option): ValueSource {
  const line = words.join(' ');
  const isChange = ['apps grant', 'apps revoke', 'apps edit'].includes(line);
  const rows = isChange
    ? [OPERATIONS.updateApplication]
    : Object.values<Operation>(OPERATIONS).filter(({ cli }) => cli.command.join(' ') === line);
  const [row] = rows;
  const member = rows.flatMap(memberFlags).find(({ name }) => `--${name}` === flag.long);
  if (member !== undefined) return member.kind === 'shorthand' ? wordsOf(member.schema) : choices(member.schema);
  if (row !== undefined && flag.long === '--clear') return clearableFlags(row).map(({ name }) => name);
  const own = OWN_FLAGS[`${line} ${flag.long}`] ?? OWN_FLAGS[flag.long ?? ''];
  if (own !== undefined) return own;
  if (/<path(?:\.\.\.)?>/.test(flag.flags)) return 'files';
  return /\[bool\]/.test(flag.flags) ? BOOLEANS : [];
}

/** Returns the source of an argument's values; an empty list for ids, which only an open vault knows. */
function argumentValues(words: readonly string[], index: number): ValueSource {
  const line = words.join(' ');
  // Only this command takes any number of arguments.
  return index === 0 || line === 'seed apply' ? (OWN_ARGUMENTS[line] ?? []) : [];
}

const BOOLEANS = ['true', 'false'] as const;

function choices(schema: Schema): readonly string[] {
  const one = schema.items ?? schema;
  return one.enum ?? (one.type === 'boolean' ? BOOLEANS : []);
}

/** Returns the words of a rule's shorthand: `transform=mask`, `permissions=token:read`, `name=` for other members. */
function wordsOf(schema: Schema): readonly string[] {
  return Object.entries(schema.items?.properties ?? {}).flatMap(([name, property]) => {
    const values = choices(property);
    return values.length === 0 ? [`${name}=`] : values.map((value) => `${name}=${value}`);
  });
}
