import {
  evaluateExpression as evaluate,
  loadFilters,
  evaluateMask as mask,
} from '../../src/core/expressions/expressions.ts';

/** Loads what the expressions need, and evaluates. Rejects where evaluating throws. */
export async function evaluateExpression(...[source, ...more]: Parameters<typeof evaluate>) {
  await loadFilters(source);
  return evaluate(source, ...more);
}

/** The same of `evaluateMask`. */
export async function evaluateMask(...[source, ...more]: Parameters<typeof mask>) {
  await loadFilters(source);
  return mask(source, ...more);
}
