import { CONTAINER, type Infer, object, PLAIN_TEXT } from './schema.ts';

/** The application types (§2.5) and their purposes. */
export const APPLICATION_TYPES = {
  private: 'Tokenize, retrieve and decrypt in backend services where the key can be kept secret.',
  public: 'Tokenize directly from a mobile or browser application.',
  management: 'Manage the token infrastructure, e.g. create Applications.',
  expiring: 'Reveal sensitive data through elements in a mobile or browser application.',
} as const;

export type ApplicationType = keyof typeof APPLICATION_TYPES;

export interface PermissionRow {
  readonly types: readonly ApplicationType[];
  readonly allows: string;
  /** A further power that the permission gives. The CLI prints this text when the permission is granted. */
  readonly warning?: string;
  /** The transform that a plain permission applies to `data`. Default: `mask`. */
  readonly transform?: Transform;
}

/** All permissions (§5.5): the application types that may hold each permission, and what the permission allows. */
export const PERMISSIONS = {
  'token:create': { types: ['private', 'public'], allows: 'Create tokens' },
  'token:read': { types: ['private', 'expiring'], allows: 'Get and list tokens' },
  'token:search': { types: ['private'], allows: 'Search tokens' },
  'token:update': {
    types: ['private', 'public'],
    allows:
      'Update tokens and read their metadata, masks and expressions; as a plain permission, set any mask, which unmasks data with plain token:read; under a rule that masks, set no expressions',
  },
  'token:delete': { types: ['private'], allows: 'Delete tokens' },
  'token:use': {
    types: ['private'],
    allows: 'Detokenize; as a plain permission, reveals every token',
    warning: 'token:use reveals the data of every token',
    transform: 'reveal',
  },
  'application:create': {
    types: ['management'],
    allows: 'Create applications with any permission: full control of the tenant',
    warning:
      'application:create gives full control of the tenant, because its holder can create an application with any permission',
  },
  'application:read': { types: ['management'], allows: 'Get and list applications' },
  'application:update': {
    types: ['management'],
    allows: 'Update applications and regenerate any API key: full control of the tenant',
    warning:
      'application:update gives full control of the tenant, because its holder can create a new key for any application',
  },
  'application:delete': { types: ['management'], allows: 'Delete applications' },
  'tenant:read': { types: ['management'], allows: 'Get the tenant' },
  'tenant:update': { types: ['management'], allows: "Update the tenant's name and settings" },
  'tenant:delete': { types: ['management'], allows: 'Delete the tenant with all its data' },
  'report:read': { types: ['management'], allows: 'Get the usage report' },
  'log:read': { types: ['management'], allows: 'List the audit log of the tenant' },
} as const satisfies Record<string, PermissionRow>;

export type Permission = keyof typeof PERMISSIONS;

/** The transforms of access rules (§2.5), weakest first: a later transform reveals more. */
export const TRANSFORMS = {
  redact: 'data is removed.',
  mask: 'The masked value is returned if a mask is defined; otherwise data is removed.',
  reveal: 'The plaintext is returned.',
} as const;

export type Transform = keyof typeof TRANSFORMS;

export const PERMISSION_NAME = {
  type: 'string', // With a type, ajv checks `uniqueItems` in linear time.
  enum: Object.keys(PERMISSIONS) as Permission[],
  description: 'A permission, `<resource>:<action>`.',
} as const;

/** A condition in a rule of an expiring application (§2.5). */
export const CONDITION = object(['attribute', 'operator', 'value'], {
  attribute: { enum: ['id', 'container'], description: 'The attribute of the token to compare.' },
  operator: { enum: ['starts_with', 'equals'], description: 'The comparison.' },
  value: {
    type: 'string',
    minLength: 1,
    maxLength: 400,
    pattern: PLAIN_TEXT,
    description: 'The value to compare with.',
  },
});

/**
 * An access rule (§2.5). Rules of public and private applications have `container`, rules of expiring applications have
 * `conditions`.
 */
export const ACCESS_RULE = object(['description', 'priority', 'transform', 'permissions'], {
  description: { type: 'string', maxLength: 1000, pattern: PLAIN_TEXT, description: 'The purpose of the rule.' },
  priority: {
    type: 'integer',
    minimum: 1,
    maximum: 2_147_483_647,
    description: 'The rank of the rule, from 1, unique in the application. Rules with lower numbers are tried first.',
  },
  container: { ...CONTAINER, description: 'The rule governs tokens in this container and below it.' },
  conditions: {
    type: 'array',
    items: CONDITION,
    minItems: 1,
    maxItems: 10,
    description:
      'The conditions of the rule; all must hold. Only for expiring applications, which have no `container`.',
  },
  transform: { enum: Object.keys(TRANSFORMS) as Transform[], description: 'How the rule shows `data`.' },
  permissions: {
    type: 'array',
    items: PERMISSION_NAME,
    minItems: 1,
    maxItems: 50,
    uniqueItems: true,
    description: 'The permissions that the rule grants.',
  },
});

export type AccessRule = Infer<typeof ACCESS_RULE>;
export type Condition = Infer<typeof CONDITION>;
