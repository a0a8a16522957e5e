import { OPERATIONS, type Operation } from '../contract/operations.ts';
import { IDEMPOTENCY_KEY, IDEMPOTENCY_KEY_RULE } from '../contract/schema.ts';

/** The members of a call's argument: the parts of the request, and `CallOptions`. */
const OPTIONS = ['signal', 'traceId', 'idempotencyKey'] as const;
const MEMBERS = ['params', 'query', 'body', ...OPTIONS] as const;
const PATHS: ReadonlySet<string> = new Set(Object.values(OPERATIONS).map(({ path }) => path));
const HEADER_TEXT = new RegExp(IDEMPOTENCY_KEY);

/** Returns whether a value has the methods of an `AbortSignal`. The signal may be of another realm. */
export function isSignal(value: unknown): value is AbortSignal {
  return isObject(value) && typeof value['aborted'] === 'boolean' && typeof value['addEventListener'] === 'function';
}

/**
 * Throws a `TypeError` for an unknown member, an invalid option, and a path parameter that would request the path of
 * another operation: `getToken({ id })` in JavaScript has no `params.id`, and URL parsers resolve `.` and `..`.
 */
export function checkRequest(id: string, row: Operation, request: unknown): void {
  const known = MEMBERS.filter((name) => OPTIONS.some((option) => option === name) || Object.hasOwn(row, name));
  if (!isObject(request)) throw new TypeError(`${id}: expects an object with ${known.join(', ')}`);
  for (const [name, value] of Object.entries(request)) {
    if (value !== undefined && !known.some((member) => member === name)) {
      throw new TypeError(`${id}: unknown member ${name}; known members: ${known.join(', ')}`);
    }
  }
  const { params, signal } = request;
  if (signal !== undefined && !isSignal(signal)) throw new TypeError(`${id}: signal must be an AbortSignal`);
  for (const name of ['traceId', 'idempotencyKey'] as const) {
    const value = request[name];
    if (value === undefined || (typeof value === 'string' && HEADER_TEXT.test(value))) continue;
    throw new TypeError(`${id}: ${name} ${IDEMPOTENCY_KEY_RULE}`);
  }
  for (const name of row.path.match(/(?<=\{)\w+(?=\})/g) ?? []) {
    const value = isObject(params) ? params[name] : undefined;
    const at = `${id}: params.${name}`;
    if (typeof value !== 'string' || value === '') throw new TypeError(`${at} must be a non-empty string`);
    if (/^\.{1,2}$/.test(value) || PATHS.has(row.path.replace(`{${name}}`, () => value))) {
      throw new TypeError(`${at} must not be '${value}': a URL with it names another resource`);
    }
    requireUnicode(at, value);
  }
}

/**
 * Returns the query parameters in the form that the daemon expects: a parameter for each item of a list, and `m.<key>`
 * for each member of an object `m`. Leaves out members that are `undefined`. Throws a `TypeError` for an empty list,
 * which would list everything, and for a value that a query cannot have.
 */
export function pairsOf(
  id: string,
  { query: schema }: Operation,
  query: unknown = {},
): readonly (readonly [string, string])[] {
  if (!isPlainObject(query)) throw new TypeError(`${id}: query must be an object`);
  return Object.entries(query).flatMap(([name, value]) => {
    const at = `${id}: query.${name}`;
    if (value === undefined) return [];
    if (schema?.properties?.[name]?.type === 'object') return pairsOfObject(at, name, value);
    if (!Array.isArray(value)) return [[name, textOf(at, value)] as const];
    if (value.length === 0) throw new TypeError(`${at} must not be an empty list; leave it out to list everything`);
    return Array.from(value, (item, index) => [name, textOf(`${at}[${index}]`, item)] as const);
  });
}

function pairsOfObject(at: string, name: string, value: unknown): readonly (readonly [string, string])[] {
  if (!isPlainObject(value)) throw new TypeError(`${at} must be an object`);
  return Object.entries(value).flatMap(([key, item]) => {
    requireUnicode(at, key);
    return item === undefined ? [] : [[`${name}.${key}`, textOf(`${at}.${key}`, item)] as const];
  });
}

function textOf(at: string, value: unknown): string {
  const isText = typeof value === 'string' || typeof value === 'boolean' || typeof value === 'bigint';
  if (!isText && !Number.isFinite(value)) throw new TypeError(`${at} must be a string, a number or a boolean`);
  const text = String(value);
  requireUnicode(at, text);
  return text;
}

function requireUnicode(at: string, text: string): void {
  if (/\p{Surrogate}/u.test(text)) throw new TypeError(`${at} contains a lone surrogate, which is not valid Unicode`);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** Returns whether a value is an object of any realm without a class. A `Map` has members that are no properties. */
function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (!isObject(value) || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
