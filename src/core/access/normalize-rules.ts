import type { AccessRule } from '../../contract/access-rule.ts';
import { normalizeContainer } from '../tokens/containers.ts';

/** The containers in rules and their conditions, as those of tokens are: comparing them is then exact. */
export function normalizeRules(rules: readonly AccessRule[]): readonly AccessRule[] {
  return rules.map((rule) => ({
    ...rule,
    ...(rule.container !== undefined && { container: normalizeContainer(rule.container) }),
    ...(rule.conditions && {
      conditions: rule.conditions.map((condition) =>
        condition.attribute === 'container' ? { ...condition, value: normalizeContainer(condition.value) } : condition,
      ),
    }),
  }));
}
