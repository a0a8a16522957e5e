/** An access rule in the model. Containers and container conditions are in lower case. */
export interface ModelRule {
  readonly description: string;
  readonly priority: number;
  readonly container?: string;
  readonly conditions?: readonly ModelCondition[];
  readonly transform: string;
  readonly permissions: readonly string[];
}

interface ModelCondition {
  readonly attribute: string;
  readonly operator: string;
  readonly value: string;
}

export interface ModelKey {
  /** Absent until a reply has shown it. */
  id?: string | undefined;
  readonly key: string;
  readonly version: number;
  readonly created_by: string;
  readonly created_at: number;
  readonly expires_at?: number | undefined;
  used?: string | undefined;
}

export interface ModelApplication {
  readonly id: string;
  readonly tenant_id: string;
  readonly type: string;
  readonly created_by: string;
  readonly created_at: number;
  readonly expires_at?: number | undefined;
  /** The application that created this expiring application. A private one also limits it. */
  readonly parent?: ModelApplication | undefined;
  readonly parentKey?: ModelKey | undefined;
  name: string;
  permissions: readonly string[];
  rules: readonly ModelRule[];
  can_create_expiring_applications?: boolean | undefined;
  modified_by?: string | undefined;
  modified_at?: number | undefined;
  /** Newest first. */
  keys: ModelKey[];
  keyVersion: number;
}

/** A token, as far as rules depend on it. */
type Reached = { readonly id: string; readonly containers: readonly string[] };
type Power = Pick<ModelApplication, 'permissions' | 'rules' | 'parent'>;

const STRENGTH: readonly string[] = ['redact', 'mask', 'reveal'];
const weaker = (a: string, b: string) => (STRENGTH.indexOf(a) <= STRENGTH.indexOf(b) ? a : b);

/**
 * Returns whether an application holds a permission directly or by a rule (§5.5). A child holds only permissions that
 * its parent holds. Pass undefined for an operation that needs no permission.
 */
export function holdsAnywhere(application: Power, permission: string | undefined): boolean {
  if (permission === undefined) return true;
  const { permissions, rules, parent } = application;
  const own = permissions.includes(permission) || rules.some((rule) => rule.permissions.includes(permission));
  return own && (parent?.type !== 'private' || holdsAnywhere(parent, permission));
}

/** Returns the transform that governs a token, or undefined without the permission (decisions §6). */
export function transformFor(application: Power, permission: string, token: Reached): string | undefined {
  let transform: string | undefined;
  for (const rule of [...application.rules].sort((a, b) => a.priority - b.priority)) {
    if (!rule.permissions.includes(permission) || !applies(rule, token)) continue;
    transform = rule.transform;
    break;
  }
  if (transform === undefined && application.permissions.includes(permission)) {
    transform = permission === 'token:use' ? 'reveal' : 'mask';
  }
  if (transform === undefined || application.parent?.type !== 'private') return transform;
  const parents = transformFor(application.parent, permission, token);
  return parents && weaker(transform, parents);
}

function applies({ container, conditions = [] }: ModelRule, token: Reached): boolean {
  if (container !== undefined) return token.containers.some((each) => each.startsWith(container));
  return conditions.every(({ attribute, operator, value }) => {
    const values = attribute === 'id' ? [token.id] : token.containers;
    return values.some((each) => (operator === 'equals' ? each === value : each.startsWith(value)));
  });
}

/** Returns whether an application may write a token. It needs the permission in every container (decisions §6). */
export function mayWrite(application: Power, permission: string, { id, containers }: Reached): boolean {
  return containers.every((each) => transformFor(application, permission, { id, containers: [each] }) !== undefined);
}

/** Returns whether a private application reads every token at or below `path` with at least this transform. */
export function readsAll(application: Power, path: string, transform: string): boolean {
  const rules = application.rules.filter(({ permissions }) => permissions.includes('token:read'));
  for (const rule of [...rules].sort((a, b) => a.priority - b.priority)) {
    const container = rule.container ?? '/';
    const shares = path.startsWith(container) || container.startsWith(path);
    // Tokens may also lie in other containers. Each call checks their rules; creating an application does not.
    if (shares && weaker(rule.transform, transform) !== transform) return false;
    if (path.startsWith(container)) return true;
  }
  return application.permissions.includes('token:read') && transform !== 'reveal';
}

export const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  private: ['token:create', 'token:update', 'token:read', 'token:delete', 'token:search', 'token:use'],
  public: ['token:create', 'token:update'],
  expiring: ['token:read'],
  management: [
    ...['create', 'read', 'update', 'delete'].map((action) => `application:${action}`),
    ...['read', 'update', 'delete'].map((action) => `tenant:${action}`),
    'report:read',
    'log:read',
  ],
};

/** Returns the paths of the members that the application type does not allow (§2.4, §2.5, decisions §6). */
export function applicationFlaws(
  type: string,
  definition: Pick<ModelApplication, 'permissions' | 'rules' | 'can_create_expiring_applications'>,
): readonly string[] {
  const { permissions, rules, can_create_expiring_applications: flag } = definition;
  const foreign = (names: readonly string[], path: string) =>
    names.flatMap((name, index) => (ALLOWED[type]?.includes(name) ? [] : [`${path}.${index}`]));
  const flaws = [...foreign(permissions, 'permissions')];
  flaws.push(...typelessFlaws(definition));
  if (type === 'management' && rules.length > 0) flaws.push('rules');
  if (type !== 'private' && flag !== undefined) flaws.push('can_create_expiring_applications');
  for (const [index, rule] of rules.entries()) {
    const path = `rules.${index}`;
    flaws.push(...foreign(rule.permissions, `${path}.permissions`));
    const [wanted, refused] =
      type === 'expiring' ? (['conditions', 'container'] as const) : (['container', 'conditions'] as const);
    if (rule[wanted] === undefined) flaws.push(`${path}.${wanted}`);
    if (rule[refused] !== undefined) flaws.push(`${path}.${refused}`);
  }
  return flaws;
}

export function typelessFlaws({
  permissions,
  rules,
}: Pick<ModelApplication, 'permissions' | 'rules'>): readonly string[] {
  if (permissions.length + rules.length === 0) return ['permissions'];
  return rules.flatMap(({ priority }, index) =>
    rules.slice(0, index).some((rule) => rule.priority === priority) ? [`rules.${index}.priority`] : [],
  );
}

/**
 * Returns whether an application may set expressions (decisions §6). The rules for reading and using decide, or else
 * the rule for updating. Without any of them, plain permissions suffice.
 */
export function mayDefine({ rules }: Power, token: Reached): boolean {
  const inOrder = [...rules].sort((a, b) => a.priority - b.priority).filter((rule) => applies(rule, token));
  const ruleOf = (permission: string) => inOrder.find(({ permissions }) => permissions.includes(permission)) ?? [];
  const showing = ['token:read', 'token:use'].flatMap(ruleOf);
  const governing = showing.length > 0 ? showing : ['token:update'].flatMap(ruleOf);
  return governing.length === 0 || governing.some(({ transform }) => transform === 'reveal');
}

/** Returns whether moving a token shows the application more of it (decisions §6). */
export function gains(application: Power, before: Reached, after: Reached): boolean {
  const strength = (permission: string, token: Reached) =>
    STRENGTH.indexOf(transformFor(application, permission, token) ?? 'nothing');
  return ['token:read', 'token:use', 'token:update'].some(
    (permission) => strength(permission, after) > strength(permission, before),
  );
}
