import {
  type EvaluateOptions,
  evaluateExpression as evaluate,
  loadFilters,
  evaluateMask as mask,
} from '../../src/core/expressions/expressions.ts';
import { budgetFor } from '../../src/core/expressions/limits.ts';
import { stringifyJson } from '../../src/core/json/stringify.ts';

type Scope = Parameters<typeof evaluate>[1];

const budgetOf = ({ data }: Scope) => budgetFor(stringifyJson(data));

/**
 * Loads the filters that the expression needs and evaluates it, by default with the budget for its data. Rejects when
 * evaluating throws.
 */
export async function evaluateExpression(source: string, scope: Scope, options: Partial<EvaluateOptions> = {}) {
  await loadFilters(source);
  return evaluate(source, scope, { work: budgetOf(scope), ...options });
}

/** Does the same with `evaluateMask`. */
export async function evaluateMask(
  source: Parameters<typeof mask>[0],
  scope: Scope,
  { work = budgetOf(scope) }: Partial<EvaluateOptions> = {},
) {
  await loadFilters(source);
  return mask(source, scope, { work });
}
