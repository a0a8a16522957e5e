import type { Operation } from '../../contract/operations.ts';
import { Fault } from '../../core/fault.ts';
import { nearestHint } from '../../core/nearest-name.ts';
import { type MemberFlag, memberFlags } from './member-flags.ts';

/** The parts that `--clear` removes, by member: the whole member, or the pairs with these names. */
export type Clearing = ReadonlyMap<string, 'whole' | readonly string[]>;

/**
 * Returns the parts that the words after `--clear` name. A word is the name of a member or of its flag
 * (`search_indexes`, `expires-at`), or one pair of a member (`metadata.customer`, where everything after the first dot
 * is the pair's name). In a merge patch, each part becomes null (RFC 7396). Throws the fault `usage`.
 */
export function readClearing(row: Operation, words: readonly string[]): Clearing {
  const flags = clearableFlags(row);
  const clearing = new Map<string, 'whole' | readonly string[]>();
  for (const word of words) {
    const [member, pair] = findCleared(flags, word);
    const before = clearing.get(member);
    if (before === 'whole' || (before !== undefined && pair === undefined)) {
      throw new Fault('usage', `--clear ${member} already clears all of it`);
    }
    clearing.set(member, pair === undefined ? 'whole' : [...(before ?? []), pair]);
  }
  return clearing;
}

/** Returns the flags of the members that a merge patch can remove. */
export function clearableFlags(row: Operation): readonly MemberFlag[] {
  if (row.mediaType !== 'application/merge-patch+json') return [];
  return memberFlags(row).filter((flag) => flag.part === 'body' && flag.clearable && flag.kind !== 'text');
}

/** Returns the member that a word names, and the name of a pair if the word names one. */
function findCleared(flags: readonly MemberFlag[], word: string): readonly [member: string, pair?: string] {
  const dot = word.indexOf('.');
  const name = dot < 0 ? word : word.slice(0, dot);
  const flag = flags.find(
    (one) => one.name === name || one.member === name || one.member === name.replaceAll('-', '_'),
  );
  if (flag === undefined) {
    const known = flags.map((one) => one.name);
    throw new Fault('usage', `--clear: unknown member ${name}`, { hint: nearestHint(name, known) });
  }
  if (dot < 0) return [flag.member];
  const pair = word.slice(dot + 1);
  if (flag.kind === 'pairs' && pair !== '') return [flag.member, pair];
  throw new Fault('usage', `--clear cannot name a part of ${flag.member}`, {
    hint: flag.kind === 'json' ? `use --${flag.name} '{"${pair}":null}'` : `--clear ${flag.name}`,
  });
}
