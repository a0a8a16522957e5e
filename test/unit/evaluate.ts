import {
  evaluateExpression as evaluate,
  loadFilters,
  evaluateMask as mask,
} from '../../src/core/expressions/expressions.ts';

/** Loads the filters that the expression needs and evaluates it. Rejects when evaluating throws. */
export async function evaluateExpression(...[source, ...more]: Parameters<typeof evaluate>) {
  await loadFilters(source);
  return evaluate(source, ...more);
}

/** Does the same with `evaluateMask`. */
export async function evaluateMask(...[source, ...more]: Parameters<typeof mask>) {
  await loadFilters(source);
  return mask(source, ...more);
}
