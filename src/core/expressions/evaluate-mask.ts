import type { Json } from '../../contract/json.ts';
import { isJsonArray, isJsonObject } from '../json/kind.ts';
import { memberNames, objectOfMembers } from '../json/member-names.ts';
import { ExpressionError } from './expression-error.ts';

/** Evaluates one string of a mask. */
type EvaluateText = (source: string) => Json;

/** A tag alone counts too: it is refused, not shown. */
function isExpression(text: string): boolean {
  return text.includes('{{') || text.includes('{%');
}

/**
 * The masked form: strings are evaluated at every depth, other values are constants (decisions §4). A member or an item
 * whose expression gives null is left out, since the data has nothing to show there (decisions §3); undefined when that
 * is the mask itself. Throws `ExpressionError` with the path of the string that failed.
 */
export function evaluateMask(
  mask: Json,
  evaluate: EvaluateText,
  path: readonly (string | number)[] = [],
): Json | undefined {
  if (typeof mask === 'string') return isExpression(mask) ? evaluateAt(mask, evaluate, path) : mask;
  if (isJsonArray(mask)) {
    const items: Json[] = [];
    for (const [index, item] of mask.entries()) {
      const masked = evaluateMask(item, evaluate, [...path, index]);
      if (masked !== undefined) items.push(masked);
    }
    return items;
  }
  if (!isJsonObject(mask)) return mask;
  const members = new Map<string, Json>();
  for (const name of memberNames(mask)) {
    const masked = evaluateMask(mask[name] ?? null, evaluate, [...path, name]);
    if (masked !== undefined) members.set(name, masked);
  }
  return objectOfMembers(members);
}

function evaluateAt(source: string, evaluate: EvaluateText, path: readonly (string | number)[]): Json | undefined {
  try {
    return evaluate(source) ?? undefined;
  } catch (error) {
    if (error instanceof ExpressionError) throw new ExpressionError(error.reason, error.position, path.join('.'));
    throw error;
  }
}
