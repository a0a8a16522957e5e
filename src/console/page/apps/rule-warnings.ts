import type { AccessRule } from '../../../client/create-client.ts';
import type { Permission } from '../../../contract/permissions.ts';

type Condition = NonNullable<AccessRule['conditions']>[number];

/** Returns warnings about a rule. `rules` are in the order of priority; `plain` are the plain permissions. */
export function ruleWarnings(
  rule: AccessRule,
  rules: readonly AccessRule[],
  plain: readonly Permission[],
  mayRead: boolean,
): readonly string[] {
  const earlier = rules.slice(0, rules.indexOf(rule)).filter((each) => covers(each, rule));
  const isTaken = (permission: Permission) => earlier.some((each) => each.permissions.includes(permission));
  const taken = rule.permissions.filter(isTaken);
  const takers = earlier.filter(({ permissions }) => permissions.some((each) => taken.includes(each)));
  const first = `${takers.map(({ priority }) => `rule ${priority}`).join(' and ')} ${takers.length > 1 ? 'come' : 'comes'} first.`;
  const reads = (each: AccessRule) => each.permissions.includes('token:read') && covers(each, rule);
  const isBlind = rule.permissions.includes('token:update') && !plain.includes('token:read') && !rules.some(reads);
  return [
    ...(taken.length === 0
      ? []
      : [`Never governs${taken.length < rule.permissions.length ? ` ${taken.join(' and ')}` : ''}: ${first}`]),
    ...(rule.transform === 'reveal' && isEverywhere(rule) && rule.permissions.some(showsData)
      ? ['Reveals every token.']
      : []),
    ...(mayRead && isBlind
      ? ['Grants token:update without token:read: the application changes tokens whose data it cannot see.']
      : []),
  ];
}

const showsData = (permission: Permission): boolean => permission === 'token:read' || permission === 'token:use';

/** Returns whether `a` matches every token that `b` matches. An unfinished container matches none. */
function covers(a: AccessRule, b: AccessRule): boolean {
  if (a.container !== undefined) {
    return a.container !== '' && (b.container?.toLowerCase().startsWith(a.container.toLowerCase()) ?? false);
  }
  return a.conditions?.every((each) => b.conditions?.some((other) => implies(other, each))) ?? false;
}

function implies(b: Condition, a: Condition): boolean {
  if (a.value === '' || a.attribute !== b.attribute) return false;
  return a.operator === 'starts_with' ? b.value.startsWith(a.value) : b.operator === 'equals' && b.value === a.value;
}

function isEverywhere({ container, conditions = [] }: AccessRule): boolean {
  const matchesAll = ({ attribute, operator, value }: Condition) =>
    attribute === 'container' && operator === 'starts_with' && value === '/';
  return container === '/' || (conditions.length > 0 && conditions.every(matchesAll));
}
