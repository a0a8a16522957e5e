import { CONTAINER, PLAIN_TEXT } from './patterns.ts';
import { PERMISSIONS, type Permission, TRANSFORMS, type Transform } from './permissions.ts';
import { type Infer, object } from './schema.ts';

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
