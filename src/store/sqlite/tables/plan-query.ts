import type { TokenFilter } from '../../../core/ports.ts';
import { containerRules, MAX_SET_NUMBER } from '../../rows/container-sets.ts';
import { type TokenQuery, toQuery } from '../../rows/token-query.ts';
import type { ContainerSets, Searched } from './container-sets.ts';
import type { IndexCondition, PlannedCondition } from './token-conditions.ts';

/** The values of `set_number`. A token of no numbered set has 0. */
const SETS = Array.from({ length: MAX_SET_NUMBER + 1 }, (_, number) => number);

/** A query as planned. Its statements read no token and no entry of a set without visible tokens. */
export interface PlannedQuery extends TokenQuery {
  readonly tenant: number;
  /** The sets that can have visible tokens. Absent if the containers of the caller's rules do not limit them. */
  readonly visible?: readonly number[] | undefined;
  /** Returns the sets with tokens, or with entries under `blind`, that can have visible tokens: at least one set. */
  readonly sets: (blind?: Uint8Array) => readonly number[];
}

/** Converts a filter to a query with the container sets of each blind index; undefined if no token can match. */
export function planQuery(filter: TokenFilter, tenant: number, sets: ContainerSets): PlannedQuery | undefined {
  const known = new Map<Uint8Array, Searched>();
  const searched = (blind: Uint8Array): Searched => {
    const found = known.get(blind) ?? sets.searched(tenant, blind);
    known.set(blind, found);
    return found;
  };
  const setsOf = (container: Uint8Array): readonly number[] => {
    const { blinds, numbers } = searched(container);
    return blinds.some((blind) => sets.numbersOf(tenant, blind, [0]).length > 0) ? [0, ...numbers] : numbers;
  };
  const query = toQuery(filter);
  const visible = visibleSets(filter.visible, setsOf);
  if (query === undefined || visible?.length === 0) return undefined;

  const planned = eachIndex((condition) => {
    const searches = condition.index_in.map(searched);
    const index_in = searches.flatMap(({ blinds }) => blinds);
    const numbers = [...new Set(searches.flatMap((search) => search.numbers))];
    const set_in = visible === undefined ? numbers : numbers.filter((number) => visible.includes(number));
    // The containers are only in hidden sets, so no entry has their blind indexes.
    if (index_in.length + set_in.length === 0) return condition;
    const inNumbered = searches.flatMap(({ blinds, isInSet }) => (isInSet ? [] : blinds));
    const found = { index_in, set_in, inNumbered };
    return searches.length === 1 || index_in.length === 0 ? { ...found, isDisjoint: true } : found;
  });

  return {
    tenant,
    all: query.all.map(planned),
    ...(query.anyOf && { anyOf: query.anyOf.map((list) => list.map(planned)) }),
    visible,
    sets(blind) {
      const found = sets.numbersOf(tenant, blind, visible);
      return found.length > 0 ? found : [visible?.[0] ?? 0];
    },
  };
}

/**
 * Returns the query for the tokens of one set. The set decides most conditions on containers, so the statements of many
 * sets stay short: SQLite accepts 32,766 parameters.
 */
export function queryInSet({ all, anyOf }: TokenQuery, set: number): TokenQuery {
  const conditionInSet = eachIndex(({ index_in, set_in = [], inNumbered = index_in }) => {
    if (set === 0) return { index_in };
    return set_in.includes(set) ? { every: [] } : { index_in: inNumbered };
  });
  const inSet = (list: readonly PlannedCondition[]) =>
    list.map(conditionInSet).filter((condition) => !isAlways(condition));
  const lists = anyOf?.map(inSet).filter((list) => !list.some(isNever));
  return lists === undefined || lists.some((list) => list.length === 0)
    ? { all: inSet(all) }
    : { all: inSet(all), anyOf: lists };
}

/** Returns the function that replaces each condition on blind indexes inside a condition by the result of `change`. */
function eachIndex(change: (condition: IndexCondition) => PlannedCondition) {
  return function changed(condition: PlannedCondition): PlannedCondition {
    if ('every' in condition) return { every: condition.every.map(changed) };
    if ('some' in condition) return { some: condition.some.map(changed) };
    if ('not' in condition) return { not: changed(condition.not) };
    return 'index_in' in condition ? change(condition) : condition;
  };
}

const isAlways = (condition: PlannedCondition) => 'every' in condition && condition.every.length === 0;
const isNever = (condition: PlannedCondition) => 'index_in' in condition && condition.index_in.length === 0;

/** Returns the sets that can have visible tokens. `setsOf` returns those with tokens in a container. */
function visibleSets(
  visible: TokenFilter['visible'],
  setsOf: (container: Uint8Array) => readonly number[],
): readonly number[] | undefined {
  const rules = containerRules(visible)?.map((lists) => lists.map((containers) => new Set(containers.flatMap(setsOf))));
  return rules && SETS.filter((number) => rules.some((found) => found.every((numbers) => numbers.has(number))));
}
