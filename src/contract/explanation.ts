import { APPLICATION, CREATE_APPLICATION } from './application.ts';
import { ACCESS_RULE, PERMISSIONS, type Permission, TRANSFORMS, type Transform } from './permissions.ts';
import { CONTAINER, ENTITY_ID, type Infer, object, PLAIN_TEXT } from './schema.ts';

/** The permissions on tokens. */
export const TOKEN_PERMISSIONS = (Object.keys(PERMISSIONS) as Permission[]).filter(isOfTokens);

export type TokenPermission = Extract<Permission, `token:${string}`>;

function isOfTokens(permission: Permission): permission is TokenPermission {
  return permission.startsWith('token:');
}

const TRANSFORM = { enum: Object.keys(TRANSFORMS) as Transform[] } as const;

/** A draft: a new application, or other permissions and rules for an existing one. */
export const DRAFT_APPLICATION = {
  description: 'Permissions and rules to try instead of those of the application.',
  ...object([], {
    type: { ...APPLICATION.properties.type, description: 'The type of an application that does not exist yet.' },
    permissions: CREATE_APPLICATION.properties.permissions,
    rules: CREATE_APPLICATION.properties.rules,
  }),
} as const;

/**
 * The members that name an application: an existing one, a draft, or an existing one with a draft's permissions and
 * rules.
 */
const ASKED_APPLICATION = {
  application_id: { ...ENTITY_ID, description: 'The id of the application.' },
  application: DRAFT_APPLICATION,
} as const;

export const EXPLAIN_ACCESS = object(['token_id'], {
  ...ASKED_APPLICATION,
  application_id: {
    ...ENTITY_ID,
    description: 'The id of the application. Default, without `application`: the caller.',
  },
  token_id: {
    type: 'string',
    minLength: 1,
    maxLength: 400,
    pattern: PLAIN_TEXT,
    description: 'The id of the token.',
  },
});

/** The outcome of a rule for one permission on one token. */
const RULE_OUTCOME = object(['priority', 'outcome', 'reason'], {
  priority: ACCESS_RULE.properties.priority,
  outcome: {
    enum: ['governs', 'passed_over', 'no_match', 'not_reached'],
    description:
      'The outcome: the rule governs, matches without granting the permission, does not match, or was not tried.',
  },
  reason: { type: 'string', description: 'The reason, in words.' },
});

/** The grants of one application that decide one permission. */
const GRANT = object(['source', 'rules'], {
  transform: { ...TRANSFORM, description: 'The granted transform; absent when nothing is granted.' },
  source: {
    enum: ['rule', 'permission', 'nothing'],
    description: 'The source of the grant: a rule, or a plain permission.',
  },
  rules: { type: 'array', items: RULE_OUTCOME, description: 'Each rule, in ascending priority.' },
});

const EXPLAINED_PERMISSION = object(['permission', 'allowed', 'reason', 'own'], {
  permission: { enum: TOKEN_PERMISSIONS, description: 'The permission.' },
  allowed: { type: 'boolean', description: 'Whether the application has the permission on this token.' },
  transform: { ...TRANSFORM, description: 'How `data` is shown; absent without access.' },
  reason: { type: 'string', description: 'The reason, in words.' },
  own: { ...GRANT, description: 'The grants of the application.' },
  creator: {
    ...GRANT,
    description: 'The grants of the creator of an expiring application. The weaker of both transforms applies.',
  },
});

/** The permissions of an application on a token, with the reasons. Contains none of the token's data. */
export const EXPLANATION = object(['token_id', 'containers', 'permissions'], {
  token_id: { type: 'string', description: 'The id of the token.' },
  containers: {
    type: 'array',
    items: CONTAINER,
    description:
      'The containers of the token. Empty when the caller explains its own access and may not read the token.',
  },
  permissions: {
    type: 'array',
    items: EXPLAINED_PERMISSION,
    description: 'Each permission on tokens; on a hidden token, those that need its id.',
  },
});

export type DraftApplication = Infer<typeof DRAFT_APPLICATION>;
export type ExplainedPermission = Infer<typeof EXPLAINED_PERMISSION>;
export type ExplainedGrant = Infer<typeof GRANT>;
export type RuleOutcome = Infer<typeof RULE_OUTCOME>;

/** The maximum number of tokens in one count. */
export const MAX_REACH = 10_000;

export const MEASURE_REACH = object([], ASKED_APPLICATION);

/** The tokens that one rule governs, that the plain permission governs, or that nothing governs. */
const REACH_PART = object(['source', 'tokens', 'capped'], {
  source: {
    enum: ['rule', 'permission', 'nothing'],
    description: 'The source of the access: a rule, the plain permission `token:read`, or nothing.',
  },
  priority: { ...ACCESS_RULE.properties.priority, description: 'The priority of the rule.' },
  transform: {
    ...TRANSFORM,
    description: 'How `data` is shown; absent when the application does not read these tokens.',
  },
  tokens: { type: 'integer', minimum: 0, maximum: MAX_REACH, description: 'The number of tokens, at most 10,000.' },
  capped: { type: 'boolean', description: 'Whether there are more than 10,000 tokens.' },
});

/** The numbers of tokens that an application can read, by the rule that governs them. Each token counts once. */
export const REACH = object(['reach'], {
  reach: {
    type: 'array',
    items: REACH_PART,
    description:
      'An entry for each rule that grants `token:read`, in ascending priority, then an entry for the tokens that no rule governs. A token counts for the first rule that governs it. A rule of an expiring application may have several entries, because the weaker transform of the application and its creator applies.',
  },
});

export type ReachPart = Infer<typeof REACH_PART>;
