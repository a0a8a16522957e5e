import { APPLICATION, APPLICATION_PAGE, CREATE_APPLICATION, UPDATE_APPLICATION } from '../application.ts';
import { APPLICATION_KEY, CREATE_APPLICATION_KEY } from '../application-key.ts';
import { PAGINATION } from '../page.ts';
import { ACCESS_RULE, CONDITION, PERMISSION_NAME } from '../permissions.ts';
import { PROBLEM_BODY } from '../problems.ts';
import type { Schema } from '../schema.ts';
import { TENANT, TENANT_SETTINGS, UPDATE_TENANT, USAGE_REPORT } from '../tenant.ts';
import { CREATE_TOKEN, TOKEN, TOKEN_PAGE, UPDATE_TOKEN } from '../token.ts';

/** A node of the OpenAPI document. */
export interface OpenApiNode {
  readonly [name: string]: unknown;
}

/**
 * The schemas that are printed once and referenced by name. `printSchema` recognises them by their constants and
 * ignores their descriptions.
 */
const NAMED_SCHEMAS = {
  Token: TOKEN,
  TokenPage: TOKEN_PAGE,
  TokenType: TOKEN.properties.type,
  CreateToken: CREATE_TOKEN,
  UpdateToken: UPDATE_TOKEN,
  Application: APPLICATION,
  ApplicationKey: APPLICATION_KEY,
  ApplicationPage: APPLICATION_PAGE,
  ApplicationType: APPLICATION.properties.type,
  CreateApplication: CREATE_APPLICATION,
  CreateApplicationKey: CREATE_APPLICATION_KEY,
  UpdateApplication: UPDATE_APPLICATION,
  AccessRule: ACCESS_RULE,
  Condition: CONDITION,
  Permission: PERMISSION_NAME,
  Tenant: TENANT,
  TenantSettings: TENANT_SETTINGS,
  UpdateTenant: UPDATE_TENANT,
  UsageReport: USAGE_REPORT,
  Pagination: PAGINATION,
  Problem: PROBLEM_BODY,
} as const satisfies Record<string, Schema>;

/** Returns `components.schemas` of the document. */
export function namedSchemas(): OpenApiNode {
  return Object.fromEntries(Object.entries(NAMED_SCHEMAS).map(([name, schema]) => [name, inlineSchema(schema)]));
}

/** Returns a reference to a component. */
export function reference(kind: 'schemas' | 'responses' | 'parameters' | 'headers', name: string): OpenApiNode {
  return { $ref: `#/components/${kind}/${name}` };
}

/**
 * Returns a schema for its point of use: a reference if the schema has a name, with the description if that differs,
 * else the schema in full.
 */
export function printSchema(schema: Schema): OpenApiNode {
  const found = Object.entries<Schema>(NAMED_SCHEMAS).find(([, named]) => isSame(named, schema));
  if (!found) return inlineSchema(schema);
  const [name, { description }] = found;
  const own = schema.description !== undefined && schema.description !== description;
  return { ...reference('schemas', name), ...(own && { description: schema.description }) };
}

/** Returns whether two schemas have the same members, apart from their descriptions. */
function isSame(named: Schema, schema: Schema): boolean {
  const keywords = (of: Schema) => Object.entries(of).filter(([keyword]) => keyword !== 'description');
  const wanted = new Map(keywords(named));
  const found = keywords(schema);
  return found.length === wanted.size && found.every(([keyword, value]) => wanted.get(keyword) === value);
}

/** Returns a schema in full. Its parts may be references. */
export function inlineSchema(schema: Schema): OpenApiNode {
  const { properties, items, additionalProperties, propertyNames, ...rest } = schema;
  const members = Object.entries(properties ?? {}).map(([name, member]) => [name, printSchema(member)]);
  return {
    // Enums of the contract contain strings. Code generators need the type.
    ...(rest.enum && !rest.type && { type: 'string' }),
    ...rest,
    ...(properties && { properties: Object.fromEntries(members) }),
    ...(items && { items: printSchema(items) }),
    ...(propertyNames && { propertyNames: printSchema(propertyNames) }),
    ...(additionalProperties !== undefined && {
      additionalProperties:
        typeof additionalProperties === 'object' ? printSchema(additionalProperties) : additionalProperties,
    }),
  };
}
