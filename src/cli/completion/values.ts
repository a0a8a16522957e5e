import type { Option } from 'commander';
import { OPERATIONS, type Operation } from '../../contract/operations.ts';
import type { Schema } from '../../contract/schema.ts';
import { memberFlags } from '../derive/member-flags.ts';
import { KEY_NAMES } from '../local/env.ts';
import { SHELLS } from '../local/shell-lines.ts';
import { FORMATS } from '../output/format.ts';
import { OUT_FORMATS } from '../seed/seed-output.ts';
import { COMPLETION_SCRIPTS } from './scripts.ts';

/** Where the values of a word come from: they are known, or they are names of profiles or of files. */
export type ValueSource = readonly string[] | 'profiles' | 'files';

const OWN_FLAGS: Readonly<Record<string, ValueSource>> = {
  '--output': FORMATS,
  '--profile': 'profiles',
  '--shell': Object.keys(SHELLS),
  '--as': KEY_NAMES,
  '--out': OUT_FORMATS,
};

const OWN_ARGUMENTS: Readonly<Record<string, ValueSource>> = {
  completion: Object.keys(COMPLETION_SCRIPTS),
  'seed apply': 'files',
  'profile use': 'profiles',
  'profile remove': 'profiles',
};

/** Take as many of them as there are. */
const MANY_ARGUMENTS: ReadonlySet<string> = new Set(['seed apply']);

/** What may stand behind a flag: the values of its schema, a file where a path is asked for, else nothing that is known. */
export function flagValues(words: readonly string[], flag: Option): ValueSource {
  const row = Object.values<Operation>(OPERATIONS).find(({ cli }) => cli.command.join(' ') === words.join(' '));
  const member = row && memberFlags(row).find(({ name }) => `--${name}` === flag.long);
  if (member !== undefined) return member.kind === 'shorthand' ? wordsOf(member.schema) : choices(member.schema);
  const own = OWN_FLAGS[flag.long ?? ''];
  if (own !== undefined) return own;
  if (/<path(?:\.\.\.)?>/.test(flag.flags)) return 'files';
  return /\[bool\]/.test(flag.flags) ? BOOLEANS : [];
}

/** What may be the argument at a place: a token has no name that is known without opening a vault. */
export function argumentValues(words: readonly string[], place: number): ValueSource {
  const line = words.join(' ');
  return place === 0 || MANY_ARGUMENTS.has(line) ? (OWN_ARGUMENTS[line] ?? []) : [];
}

const BOOLEANS = ['true', 'false'] as const;

function choices(schema: Schema): readonly string[] {
  const one = schema.items ?? schema;
  return one.enum ?? (one.type === 'boolean' ? BOOLEANS : []);
}

/** `transform=mask`, `permissions=token:read`, and the beginnings of the others: an object is written in words. */
function wordsOf(schema: Schema): readonly string[] {
  return Object.entries(schema.items?.properties ?? {}).flatMap(([name, property]) => {
    const values = choices(property);
    return values.length === 0 ? [`${name}=`] : values.map((value) => `${name}=${value}`);
  });
}
