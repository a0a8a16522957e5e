import { APPLICATION, CREATE_APPLICATION } from '../../../contract/application.ts';
import { object, type Schema } from '../../../contract/schema.ts';
import { TENANT_SETTINGS, UPDATE_TENANT } from '../../../contract/tenant.ts';
import { CREATE_TOKEN } from '../../../contract/token.ts';

/** The maximum number of tokens of one item with `generate`. */
export const MAX_GENERATED = 10_000;

/** The kinds of generated test data. */
export const GENERATED_KINDS = ['card', 'bank', 'ssn', 'person'] as const;

/** The schema of an item's name, which must fit into `${apps.NAME.id}` and into the name of an environment variable. */
const ITEM_NAME = { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9_-]{0,63}$', examples: ['visa-1'] } as const;

/** The tenant's settings with their type, so that an error names it: YAML reads an unquoted `true` as a boolean. */
const SETTINGS = Object.entries(TENANT_SETTINGS.properties).map(([name, setting]) => [
  name,
  { type: 'string', ...setting },
]);

const { name, permissions, rules, can_create_expiring_applications } = CREATE_APPLICATION.properties;

const APP: Schema = object(['type'], {
  name: { ...name, description: `${name.description} Default: the name of the item.` },
  type: {
    enum: APPLICATION.properties.type.enum.filter((type) => type !== 'expiring'),
    description:
      'The type of the application. It cannot be `expiring`, because the application must exist at the next apply.',
  },
  permissions,
  rules,
  can_create_expiring_applications,
});

/** A seed's expressions must work on its data, so `without_result` is no member of a seed. */
const { without_result: _, ...CREATED } = CREATE_TOKEN.properties;

const TOKEN: Schema = object([], {
  ...CREATED,
  id: {
    type: 'string',
    minLength: 3,
    maxLength: 400,
    pattern: '^[^{}]*$',
    description: 'The id of the token, which cannot be an expression. Default: the name of the item.',
  },
  generate: {
    enum: GENERATED_KINDS,
    description: 'The kind of test data to generate instead of `data`. It has valid checksums, but no real values.',
  },
  count: {
    type: 'integer',
    minimum: 1,
    maximum: MAX_GENERATED,
    description:
      'With `generate`: the number of tokens. Their ids are the id of the item with -1, -2, … appended. Default: 1.',
  },
});

/** The schema of a seed file; the source of `vault seed schema` and docs/seed.schema.json. */
export const SEED_SCHEMA: Schema = object([], {
  $schema: { type: 'string', description: 'The JSON Schema that editors use; the vault ignores it.' },
  seed: {
    type: 'string',
    pattern: '^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$',
    description: 'The name of the seed. The application `seed: NAME` makes its tokens. Default: default.',
  },
  tenant: {
    description: 'The name and the settings of the tenant of the calling key.',
    ...object([], {
      name: UPDATE_TENANT.properties.name,
      settings: { ...TENANT_SETTINGS, properties: Object.fromEntries(SETTINGS) },
    }),
  },
  apps: { type: 'object', propertyNames: ITEM_NAME, additionalProperties: APP, description: 'Applications by name.' },
  tokens: { type: 'object', propertyNames: ITEM_NAME, additionalProperties: TOKEN, description: 'Tokens by name.' },
});

/** Returns the JSON Schema document of a seed file. */
export function seedSchemaDocument(): object {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'A seed of token-vault, for `vault seed apply`',
    ...SEED_SCHEMA,
    patternProperties: { '^x-': { description: 'Ignored: anchors for the rest of the file.' } },
  };
}
