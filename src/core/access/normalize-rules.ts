import type { AccessRule } from '../../contract/access-rule.ts';

/** Containers are lower-cased on the way in (decisions §5), in rules as in tokens, so that comparing them is exact. */
export function normalizeRules(rules: readonly AccessRule[]): readonly AccessRule[] {
  return rules.map((rule) => ({
    ...rule,
    ...(rule.container !== undefined && { container: rule.container.toLowerCase() }),
    ...(rule.conditions && {
      conditions: rule.conditions.map((condition) =>
        condition.attribute === 'container' ? { ...condition, value: condition.value.toLowerCase() } : condition,
      ),
    }),
  }));
}
