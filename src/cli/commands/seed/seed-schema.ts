import { APPLICATION, CREATE_APPLICATION } from '../../../contract/application.ts';
import type { Schema } from '../../../contract/schema.ts';
import { TENANT_SETTINGS, UPDATE_TENANT } from '../../../contract/tenant.ts';
import { CREATE_TOKEN } from '../../../contract/token.ts';

/** The limit of tokens in one seed: the record of all tokens must fit the body of one request. */
export const MAX_SEED_TOKENS = 10_000;

/** The kinds of generated test data. */
export const GENERATED_KINDS = ['card', 'bank', 'ssn', 'person'] as const;

/** The name of an item: it must fit into `${apps.NAME.id}` and environment variables. */
const ITEM_NAME = { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9_-]{0,63}$', examples: ['visa-1'] } as const;

/** YAML reads an unquoted `true` as a boolean: the error names the type, too. */
const SETTINGS = Object.entries(TENANT_SETTINGS.properties).map(([name, setting]) => [
  name,
  { type: 'string', ...setting },
]);

const { name, permissions, rules, can_create_expiring_applications } = CREATE_APPLICATION.properties;

const APP: Schema = {
  type: 'object',
  required: ['type'],
  additionalProperties: false,
  properties: {
    name: { ...name, description: `${name.description} Default: the name of the item.` },
    type: {
      enum: APPLICATION.properties.type.enum.filter((type) => type !== 'expiring'),
      description: 'The purpose of the application. An expiring one would end before the next apply.',
    },
    permissions,
    rules,
    can_create_expiring_applications,
  },
};

const TOKEN: Schema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    ...CREATE_TOKEN.properties,
    id: {
      type: 'string',
      minLength: 3,
      maxLength: 400,
      pattern: '^[^{}]*$',
      description: 'The id of the token; not an expression. Default: the name of the item.',
    },
    generate: {
      enum: GENERATED_KINDS,
      description: 'Generates test data instead of `data`: valid checksums, no real values.',
    },
    count: {
      type: 'integer',
      minimum: 1,
      maximum: MAX_SEED_TOKENS,
      description: 'With `generate`: the number of tokens; -1, -2, … follow the id of the item. Default: 1.',
    },
  },
};

/** The schema of a seed file; the source of `vault seed schema` and docs/seed.schema.json. */
export const SEED_SCHEMA: Schema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    $schema: { type: 'string', description: 'For editors.' },
    seed: {
      type: 'string',
      pattern: '^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$',
      description: 'The name of the seed; --prune removes only items of this seed. Default: default.',
    },
    tenant: {
      type: 'object',
      additionalProperties: false,
      properties: {
        name: UPDATE_TENANT.properties.name,
        settings: { ...TENANT_SETTINGS, properties: Object.fromEntries(SETTINGS) },
      },
      description: 'The name and the settings of the tenant of the calling key.',
    },
    apps: {
      type: 'object',
      propertyNames: ITEM_NAME,
      additionalProperties: APP,
      description: 'Applications by name.',
    },
    tokens: {
      type: 'object',
      propertyNames: ITEM_NAME,
      additionalProperties: TOKEN,
      description: 'Tokens by name.',
    },
  },
};

/** Returns the JSON Schema document of a seed file. */
export function seedSchemaDocument(): object {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'A seed of token-vault, for `vault seed apply`',
    ...SEED_SCHEMA,
  };
}
