import type { Instant, TokenCondition } from '../../core/ports.ts';
import type { TimeRange } from '../../core/scan-ports.ts';
import { type Fragment, join, raw, sql } from './fragment.ts';
import { isStorableText } from './stored-value.ts';
import { successor, type TokenQuery } from './token-query.ts';

type Conditions<Name extends string> = Extract<TokenCondition, Readonly<Record<Name, unknown>>>;

/** A condition that the stores test in different ways. */
export type OwnCondition =
  | Conditions<'id_in'>
  | Conditions<'type_in'>
  | Conditions<'index_in'>
  | Conditions<'clear_in'>;

type WhereOwn = (condition: OwnCondition) => Fragment;

/** Returns the tests of the whole query on the row `t` of `token`; TRUE if it has no conditions. */
export function queryFragment({ all, anyOf }: TokenQuery, own: WhereOwn): Fragment {
  const every = (conditions: readonly TokenCondition[]) =>
    join(
      conditions.map((condition) => conditionFragment(condition, own)),
      'AND',
    );
  return anyOf === undefined ? every(all) : join([every(all), join(anyOf.map(every), 'OR')], 'AND');
}

/** Returns the test of a condition on the row `t` of `token`. */
export function conditionFragment(condition: TokenCondition, own: WhereOwn): Fragment {
  if ('id_prefix' in condition) return wherePrefix('t.id', condition.id_prefix);
  if ('created_in' in condition) return whereBetween('t.created_at', condition.created_in);
  if ('expires_in' in condition) {
    return sql`(t.expires_at IS NOT NULL AND ${whereBetween('t.expires_at', condition.expires_in)})`;
  }
  const where = (part: TokenCondition) => conditionFragment(part, own);
  if ('every' in condition) return join(condition.every.map(where), 'AND');
  if ('some' in condition) return join(condition.some.map(where), 'OR');
  if ('not' in condition) return sql`NOT (${where(condition.not)})`;
  return own(condition);
}

/** Returns the test that the row `t` has not expired. */
export function isLive(now: Instant): Fragment {
  return sql`(t.expires_at IS NULL OR t.expires_at > ${now})`;
}

function whereBetween(column: string, { from, to }: TimeRange): Fragment {
  return sql`(${raw(column)} BETWEEN ${from} AND ${to})`;
}

/** Returns a range of ids for a prefix. LIKE would interpret wildcards, and ignore case or not use the index. */
export function wherePrefix(column: string, prefix: string): Fragment {
  if (!isStorableText(prefix)) return raw('FALSE');
  const id = raw(column);
  const end = successor(prefix);
  return end === undefined ? sql`(${id} >= ${prefix})` : sql`(${id} >= ${prefix} AND ${id} < ${end})`;
}
