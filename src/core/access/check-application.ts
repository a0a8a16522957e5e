import { type AccessRule, type ApplicationType, PERMISSIONS, type Permission } from '../../contract/permissions.ts';
import { type MemberErrors, Problem } from '../problem.ts';
import { normalizeContainer } from '../tokens/containers.ts';

/** The members of an application that create and update share. */
export interface ApplicationDefinition {
  readonly type: ApplicationType;
  readonly permissions: readonly Permission[];
  readonly rules: readonly AccessRule[];
  readonly can_create_expiring_applications?: boolean | undefined;
}

/** Throws `invalid_request` for every member that the application's type does not allow (§2.4, §2.5, decisions §6). */
export function checkApplication(application: ApplicationDefinition): void {
  refuse([
    ...checkPermissions(application.type, application.permissions, 'permissions'),
    ...checkRules(application),
    ...findTypeless(application),
    ...checkWhole(application),
  ]);
}

/** Throws `invalid_request` for members that are wrong in applications of every type. */
export function checkTypeless(application: Omit<ApplicationDefinition, 'type'>): void {
  refuse(findTypeless(application));
}

function refuse(findings: readonly Finding[]): void {
  const errors: MemberErrors = Object.fromEntries(findings);
  if (findings.length > 0) throw new Problem('invalid_request', { errors });
}

type Finding = readonly [path: string, messages: readonly string[]];

function findTypeless({ permissions, rules }: Omit<ApplicationDefinition, 'type'>): Finding[] {
  if (permissions.length > 0 || rules.length > 0) return checkPriorities(rules);
  return [['permissions', ['must not be empty when rules are empty too']]];
}

function checkWhole({ type, can_create_expiring_applications }: ApplicationDefinition): Finding[] {
  const findings: Finding[] = [];
  if (type !== 'private' && can_create_expiring_applications !== undefined) {
    findings.push(['can_create_expiring_applications', ['is allowed only for private applications']]);
  }
  return findings;
}

function checkPermissions(type: ApplicationType, permissions: readonly Permission[], path: string): Finding[] {
  return permissions.flatMap((permission, index): Finding[] => {
    const types: readonly ApplicationType[] = PERMISSIONS[permission].types;
    if (types.includes(type)) return [];
    return [[`${path}.${index}`, [wrongPermission(type, types, path)]]];
  });
}

function wrongPermission(type: ApplicationType, types: readonly ApplicationType[], path: string): string {
  // No application may have such a permission in a rule, so do not name the type that may have it plainly.
  const isPlainOnly = types.every((each) => each === 'management');
  if (isPlainOnly && path !== 'permissions') return 'is allowed only as a plain permission, not in a rule';
  return `is not allowed for ${type} applications, only for ${types.join(' and ')} applications`;
}

function checkRules({ type, rules }: ApplicationDefinition): Finding[] {
  // A finding about a member of a rule would contradict this one.
  if (type === 'management' && rules.length > 0) {
    return [['rules', ['must be empty, because a management application has only plain permissions']]];
  }
  return rules.flatMap((rule, index) => checkRule(type, rule, `rules.${index}`));
}

function checkRule(type: ApplicationType, rule: AccessRule, path: string): Finding[] {
  const findings = checkPermissions(type, rule.permissions, `${path}.permissions`);
  if (type === 'expiring') {
    if (rule.container !== undefined) {
      findings.push([`${path}.container`, ['is not allowed for expiring applications; use conditions']]);
    }
    if (rule.conditions === undefined) findings.push([`${path}.conditions`, ['is required for expiring applications']]);
  } else {
    if (rule.conditions !== undefined) {
      findings.push([`${path}.conditions`, ['is allowed only for expiring applications; use container']]);
    }
    if (rule.container === undefined) findings.push([`${path}.container`, [`is required for ${type} applications`]]);
  }
  return findings;
}

function checkPriorities(rules: readonly AccessRule[]): Finding[] {
  return rules.flatMap((rule, index): Finding[] => {
    const first = rules.findIndex((other) => other.priority === rule.priority);
    return first === index ? [] : [[`rules.${index}.priority`, [`is already the priority of rules.${first}`]]];
  });
}

/** Returns rules with normalized containers, in lower case as in tokens, so that comparisons are exact. */
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
