import type { AccessRule, Application, CreateApplication } from '../../../client/create-client.ts';
import {
  type ApplicationType,
  PERMISSIONS,
  type Permission,
  type PermissionRow,
} from '../../../contract/permissions.ts';

/** A rule of a draft. Its `key` does not change when the rule moves. */
export interface DraftRule {
  readonly key: number;
  readonly rule: AccessRule;
}

/** The state of the form. The order of the rules determines their priorities. */
export interface DraftState {
  readonly name: string;
  readonly type: ApplicationType;
  readonly permissions: readonly Permission[];
  readonly rules: readonly DraftRule[];
  readonly expires_at: string;
  readonly can_create_expiring_applications: boolean;
}

let keys = 0;
const keyed = (rule: AccessRule): DraftRule => ({ key: keys++, rule });

export function applicationDraft(application?: Application): DraftState {
  return {
    name: application?.name ?? '',
    type: application?.type ?? 'private',
    permissions: application?.permissions ?? [],
    rules: (application?.rules ?? []).toSorted((a, b) => a.priority - b.priority).map(keyed),
    expires_at: '',
    can_create_expiring_applications: application?.can_create_expiring_applications ?? false,
  };
}

/** Returns the permissions that applications of the type may hold. Rules grant only those on tokens. */
export function permissionsOf(type: ApplicationType): readonly Permission[] {
  return (Object.keys(PERMISSIONS) as Permission[]).filter((permission) => {
    const { types }: PermissionRow = PERMISSIONS[permission];
    return types.includes(type);
  });
}

/**
 * Returns a new rule for the end of the list: with a condition on containers for an expiring application, else with a
 * container.
 */
export function newRule({ type, rules }: DraftState): DraftRule {
  const where =
    type === 'expiring'
      ? { conditions: [{ attribute: 'container' as const, operator: 'starts_with' as const, value: '' }] }
      : { container: '' };
  const priority = Math.max(0, ...rules.map(({ rule }) => rule.priority)) + 1;
  const [first = 'token:create'] = permissionsOf(type).filter((each) => each === 'token:read');
  return keyed({ description: '', priority, ...where, transform: 'mask', permissions: [first] });
}

/** Returns the rules with one rule moved. The priorities are numbered in the new order. */
export function moved(rules: readonly DraftRule[], from: number, to: number): readonly DraftRule[] {
  const picked = rules[from];
  if (picked === undefined || to < 0 || to >= rules.length) return rules;
  const priorities = rules.map(({ rule }) => rule.priority);
  return rules
    .toSpliced(from, 1)
    .toSpliced(to, 0, picked)
    .map(({ key, rule }, index) => ({ key, rule: { ...rule, priority: priorities[index] ?? rule.priority } }));
}

/** Returns the draft with another type, without the parts that this type cannot have. */
export function asType(draft: DraftState, type: ApplicationType): DraftState {
  const allowed = permissionsOf(type);
  const permissions = draft.permissions.filter((each) => allowed.includes(each));
  return { ...draft, type, permissions, rules: [], can_create_expiring_applications: false };
}

/** Returns the permissions and rules of a draft, for the requests that create, update or count. */
export function grantedBy({ permissions, rules }: DraftState): Pick<CreateApplication, 'permissions' | 'rules'> {
  return {
    ...(permissions.length > 0 && { permissions: [...permissions] }),
    ...(rules.length > 0 && { rules: rules.map(({ rule }) => rule) }),
  };
}

/** Returns the body of an update. The body of a create also needs the type. */
export function bodyOf(draft: DraftState): Omit<CreateApplication, 'type'> {
  const { name, type, expires_at, can_create_expiring_applications } = draft;
  return {
    name,
    ...grantedBy(draft),
    ...(type === 'private' && can_create_expiring_applications && { can_create_expiring_applications }),
    ...(expires_at !== '' && { expires_at }),
  };
}
