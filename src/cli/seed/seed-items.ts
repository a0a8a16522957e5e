import type { Json, JsonObject } from '../../contract/json.ts';
import { memberNames } from '../../core/json/member-names.ts';
import { asObject } from '../output/result-view.ts';
import type { SeedText } from './read-seed-file.ts';
import { MAX_SEED_TOKENS } from './seed-schema.ts';

/** The items of one kind in a file, in its order; an empty object for what is none. */
export function membersAt(value: Json, member: 'apps' | 'tokens'): readonly (readonly [string, JsonObject])[] {
  const items = asObject(asObject(value)?.[member] ?? null);
  if (items === undefined) return [];
  return memberNames(items).map((name) => [name, asObject(items[name] ?? null) ?? {}]);
}

/** What the items of a seed are called, in all of its files. */
export interface ItemNames {
  readonly apps: ReadonlySet<string>;
  /** With the id, as it is written. */
  readonly tokenIds: ReadonlyMap<string, string>;
}

export function namesOf(texts: readonly SeedText[]): ItemNames {
  const tokens = texts.flatMap(({ value }) => membersAt(value, 'tokens'));
  return {
    apps: new Set(texts.flatMap(({ value }) => membersAt(value, 'apps').map(([item]) => item))),
    tokenIds: new Map(tokens.map(([item, token]) => [item, idOf(item, token)])),
  };
}

/** What a seed is called. */
export function seedName(value: Json): string {
  return textOf(asObject(value)?.['seed']) ?? 'default';
}

function idOf(item: string, token: JsonObject): string {
  return textOf(token['id']) ?? item;
}

/** The ids of an item: its own, or of one that is generated so many as it says. */
export function idsOf(item: string, token: JsonObject): readonly string[] {
  const { generate, count = 1 } = token;
  const base = idOf(item, token);
  if (generate === undefined) return [base];
  const length = typeof count === 'number' && count >= 1 && count <= MAX_SEED_TOKENS ? Math.trunc(count) : 1;
  return Array.from({ length }, (_, at) => `${base}-${at + 1}`);
}

export const textOf = (value: Json | undefined): string | undefined => (typeof value === 'string' ? value : undefined);
