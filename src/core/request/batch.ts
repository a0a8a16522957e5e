import type { Json } from '../../contract/json.ts';
import type { Limits } from '../../contract/limits.ts';
import type { ProblemCode } from '../../contract/problems.ts';
import { isLonger } from '../bytes.ts';
import { isJsonArray, isJsonObject, keepMemberOrder, MemberMap, memberNames } from '../json/kind.ts';
import { JsonText, type Printable, stringifyJson } from '../json/stringify.ts';
import { type MemberErrors, Problem } from '../problem.ts';

/** The maximum number of reported paths. A caller needs only a few of them. */
const MAX_PATHS = 100;

/** Creates a collector that combines the errors in the parts of a body into one problem, for at most `most` paths. */
export function createErrors(code: ProblemCode, most = MAX_PATHS) {
  const errors = new Map<string, readonly string[]>();

  function add(path: string, ...messages: readonly string[]): void {
    const name = path === '' ? 'body' : path;
    if (errors.size < most) errors.set(name, [...(errors.get(name) ?? []), ...messages]);
  }

  return {
    get isEmpty(): boolean {
      return errors.size === 0;
    },
    get isFull(): boolean {
      return errors.size >= most;
    },
    add,
    /** Adds the errors of a problem with this code, under the path of the part. Returns false for any other error. */
    take(path: string, error: unknown): boolean {
      if (!(error instanceof Problem) || error.code !== code) return false;
      const found: MemberErrors = error.errors ?? { '': [error.detail] };
      for (const [name, messages] of Object.entries(found)) add([path, name].filter(Boolean).join('.'), ...messages);
      return true;
    },
    throwIfAny(): void {
      // Without a prototype `__proto__` is a plain member.
      if (errors.size > 0)
        throw new Problem(code, { errors: Object.assign(Object.create(null), Object.fromEntries(errors)) });
    },
  };
}

/** Adds the errors of a problem to the collector with its code, under the path of the part. Rethrows any other error. */
export function collectErrors(path: string, error: unknown, ...all: readonly ReturnType<typeof createErrors>[]): void {
  if (!all.some((errors) => errors.take(path, error))) throw error;
}

/** Returns a reply as JSON text. Throws `result_too_large` for a text above the size limit of a response. */
export function printBatch(reply: Printable, { response }: Limits): JsonText {
  const text = stringifyJson(reply);
  if (isLonger(text, response)) throw tooLarge();
  return new JsonText(text);
}

export function tooLarge(): Problem {
  return new Problem('result_too_large', {
    detail: 'The result exceeds the size limit of a response; send fewer items in one request.',
  });
}

/**
 * Returns the replacement for a value, or undefined to visit the items or members of the value. `path` is dotted and
 * empty at the top.
 */
type Visit = (value: Json, path: string) => Json | JsonText | undefined;

/** Returns a copy of a value in which `visit` has replaced some parts. Keeps the order of members. */
export function mapJson(value: Json, visit: Visit, path = ''): Json | JsonText {
  const replaced = visit(value, path);
  if (replaced !== undefined) return replaced;
  const below = (name: string | number) => (path === '' ? String(name) : `${path}.${name}`);
  // `JsonText` may replace any part of a value: replies print it unchanged. The casts hide this from the types.
  if (isJsonArray(value)) return value.map((item, index) => mapJson(item, visit, below(index)) as Json);
  if (!isJsonObject(value)) return value;
  const names = memberNames(value);
  const mapped = new MemberMap();
  for (const name of names) mapped[name] = mapJson(value[name] ?? null, visit, below(name)) as Json;
  keepMemberOrder(mapped, names);
  return mapped;
}
