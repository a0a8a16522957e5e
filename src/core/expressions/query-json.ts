import type { JSONPathNode, JSONValue } from 'json-p3';
import type { Json } from '../../contract/json.ts';
import { MAX_DEPTH } from '../../contract/limits.ts';
import { isError } from '../fault.ts';
import { isJsonArray, isJsonObject, JsonNumber } from '../json/kind.ts';
import { loadedOnce } from '../loaded-once.ts';
import { FilterFailure, stepsOfText, type WorkBudget } from './limits.ts';

/**
 * Returns the only value that a JSONPath (RFC 9535) finds. Throws `FilterFailure` when the path is invalid or finds no
 * value or several values.
 */
export type QueryJson = (path: string, value: Json, work: WorkBudget) => Json;

/** The recursion limit of the library, which also counts the value itself. It exceeds the depth of any `data`. */
const MAX_RECURSION = MAX_DEPTH + 1;

/** The steps of parsing a path: for each path, and for each character of it. */
const PARSING = { path: 32, character: 4 } as const;

/** The minimum steps of one read. For most reads the library creates a node with the whole path. */
const READING = 8;

/** The steps of each name in a list of members. The proxy makes a name slower than a read. */
const NAMING = 16;

/**
 * The number of path characters that take one step on each read. Most reads evaluate a condition or a list of
 * selectors, which may be as long as the path.
 */
const CONDITION = 2;

/**
 * Loads the JSONPath library, without its functions `match` and `search`, whose patterns can take seconds on a short
 * text.
 */
export const loadQueryJson = loadedOnce(async (): Promise<QueryJson> => {
  const { FunctionExpressionType, JSONPathEnvironment, JSONPathError, Nothing } = await import('json-p3');
  const environment = new JSONPathEnvironment({ maxRecursionDepth: MAX_RECURSION });
  environment.functionRegister.delete('match');
  environment.functionRegister.delete('search');
  let spend: WorkBudget['spend'] = () => undefined;
  // RFC 9535 §2.4.4 counts characters; the library counts UTF-16 code units.
  environment.functionRegister.set('length', {
    argTypes: [FunctionExpressionType.ValueType],
    returnType: FunctionExpressionType.ValueType,
    call: (value: unknown) => {
      if (typeof value === 'string') {
        // A condition may count the text of one read many times.
        spend(1 + stepsOfText(value));
        return [...value].length;
      }
      if (Array.isArray(value)) return value.length;
      return typeof value === 'object' && value !== null ? Object.keys(value).length : Nothing;
    },
  });

  return (path, value, work) => {
    let found: JSONPathNode | undefined;
    spend = work.spend;
    try {
      spend(PARSING.path + PARSING.character * path.length);
      const query = environment.compile(path);
      for (const node of query.lazyQuery(walked(value, path.length, work))) {
        if (found !== undefined) throw new FilterFailure('finds more than one value');
        found = node;
      }
    } catch (error) {
      if (error instanceof JSONPathError)
        throw new FilterFailure('needs a valid JSONPath, without match() and search()');
      // The library passes the nodes of one step as arguments of a call; more than about 100,000 exceed the stack.
      if (isError(error) && error.name === 'RangeError') throw new FilterFailure('takes too much work');
      throw error;
    }
    if (found === undefined) throw new FilterFailure('finds no value');
    return original(value, found.location);
  };
});

/**
 * Returns a lazy copy of a value that counts every read. A short path such as `$..*[?count($..*) > 1]` needs a number
 * of reads that is quadratic in the size of the value.
 */
function walked(value: Json, pathLength: number, work: WorkBudget): JSONValue {
  const reading = READING + Math.ceil(pathLength / CONDITION);
  const copies = new WeakSet<object>();
  function copy(original: unknown, depth: number): unknown {
    if (original instanceof JsonNumber) return Number(original.lexeme);
    if (typeof original !== 'object' || original === null) return original;
    const members: object = Array.isArray(original) ? [...original] : Object.assign(Object.create(null), original);
    work.spend(Object.keys(members).length);
    const counted = new Proxy(members, {
      get: (target, key) => read(target, key, depth + 1),
      ownKeys: (target) => {
        const names = Reflect.ownKeys(target);
        work.spend(NAMING * names.length);
        return names;
      },
    });
    copies.add(counted);
    return counted;
  }
  function read(members: object, key: PropertyKey, depth: number): unknown {
    // Only the read of an item or a member creates a node with its path.
    work.spend(key === 'length' && Array.isArray(members) ? reading : reading + depth);
    const member: unknown = Reflect.get(members, key);
    if (typeof member === 'string') work.spend(stepsOfText(member));
    if (typeof member !== 'object' || member === null || copies.has(member)) return member;
    const copied = copy(member, depth);
    Reflect.set(members, key, copied);
    return copied;
  }
  // The copy is JSON with numbers instead of lexemes, behind read-only proxies.
  return copy(value, 0) as JSONValue;
}

/** Returns the original of a found value, with its lexemes and its order of members. */
function original(value: Json, location: readonly (string | number)[]): Json {
  let at: Json | undefined = value;
  for (const key of location) {
    if (isJsonArray(at)) at = at[Number(key)];
    else if (isJsonObject(at)) at = at[key];
  }
  return at ?? null;
}
