import type { Json } from '../../contract/json.ts';
import { isJsonArray, isJsonObject } from '../json/kind.ts';
import { ExpressionError } from './expression-error.ts';
import type { WorkBudget } from './limits.ts';
import type { PathOperand, Scope } from './template.ts';

const INDEX = /^-?\d{1,15}$/;

/**
 * What a path leads to; null where the data has nothing there. Own members only: no path reaches a prototype. Throws
 * `FilterFailure` when the budget is used up.
 */
export function readPath(path: PathOperand, scope: Scope, work: WorkBudget): Json {
  let value: Json | undefined = path.root === 'data' ? scope.data : scope.metadata;
  if (value === undefined) throw outOfScope(path.position);
  for (const key of path.keys) value = readKey(value, key, work);
  return value;
}

export function outOfScope(position: number): ExpressionError {
  return new ExpressionError('metadata can be referred to in fingerprint_expression only', position);
}

/** `size`, `first` and `last` of arrays, and `size` of a text, are Liquid's; an object's member of that name is just that. */
function readKey(value: Json, key: string | number, work: WorkBudget): Json {
  if (isJsonArray(value)) {
    if (key === 'size') return value.length;
    if (key === 'first') return value[0] ?? null;
    if (key === 'last') return value.at(-1) ?? null;
    return typeof key === 'number' || INDEX.test(key) ? (value.at(Number(key)) ?? null) : null;
  }
  if (typeof value === 'string') {
    if (key !== 'size') return null;
    work.spend(value.length);
    return [...value].length;
  }
  return isJsonObject(value) && Object.hasOwn(value, key) ? (value[key] ?? null) : null;
}
