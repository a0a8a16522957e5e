import type { JsonObject } from '../../../contract/json.ts';
import { memberNames } from '../../../core/json/kind.ts';
import { isSameJson } from '../../../core/json/stringify.ts';

/** The effect of an apply on one item. */
export interface SeedChange {
  readonly action: 'create' | 'change' | 'unchanged';
  /** `tenant`, `apps.web` or `tokens.visa`. */
  readonly item: string;
  /** The members that differ between the file and the vault. */
  readonly members: readonly string[];
}

/** Compares the members of `wanted` with those of the record in the vault, which is undefined if there is none. */
export function compareItem(item: string, wanted: JsonObject, live: JsonObject | undefined): SeedChange {
  if (live === undefined) return { action: 'create', item, members: [] };
  const members = memberNames(wanted).filter((name) => !isSameJson(wanted[name] ?? null, live[name] ?? null));
  return { action: members.length === 0 ? 'unchanged' : 'change', item, members };
}
