import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { openApi, openApiText } from '../../src/contract/openapi/openapi.ts';
import { OPERATIONS, type Operation } from '../../src/contract/operations.ts';

const VERSION = '1.2.3';
const ROWS = Object.entries<Operation>(OPERATIONS);

/** Parses the printed document, which the validators read. */
const printed = (): Draft => JSON.parse(openApiText({ version: VERSION }));

type Draft = Record<string, Node>;
/** Untyped JSON: a missing member is undefined. */
interface Node {
  [name: string]: Node;
}

/** Validates the document against the schema of OpenAPI 3.1. */
async function seriousme(document: object): Promise<readonly string[]> {
  const { valid, errors } = await new Validator().validate(structuredClone(document) as Record<string, unknown>);
  return valid ? [] : [JSON.stringify(errors)];
}

/** Lints the document: references, names, parameters, and examples against their schemas. */
async function redocly(document: object): Promise<readonly string[]> {
  const config = await createConfig({
    rules: {
      struct: 'error',
      'no-unresolved-refs': 'error',
      'no-unused-components': 'error',
      'no-identical-paths': 'error',
      'operation-operationId-unique': 'error',
      'operation-parameters-unique': 'error',
      'path-parameters-defined': 'error',
      'path-declaration-must-exist': 'error',
      'security-defined': 'error',
      'no-enum-type-mismatch': 'error',
      'no-required-schema-properties-undefined': 'error',
      'no-invalid-media-type-examples': 'error',
      'no-invalid-schema-examples': 'error',
      'no-invalid-parameter-examples': 'error',
      'operation-4xx-response': 'error',
      'tag-description': 'error',
      'operation-summary': 'error',
    },
  });
  const problems = await lintFromString({ source: JSON.stringify(document), absoluteRef: '/openapi.json', config });
  return problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`);
}

describe('the document', () => {
  it.each([{}, { headerPrefix: 'Acme' }, { serverUrl: 'https://vault.example/v1' }])(
    'is valid, with %j',
    async (options) => {
      const document = openApi({ version: VERSION, ...options });
      expect(await seriousme(document)).toEqual([]);
      expect(await redocly(document)).toEqual([]);
    },
  );

  /** A place in the document, and the member to set there, or to remove. */
  type Damage = readonly [where: readonly string[], member: string, value?: unknown];
  function damaged([where, member, value]: Damage) {
    const document = printed();
    const place = where.reduce((node: Node | undefined, step) => node?.[step], document as Node) ?? {};
    if (value === undefined) expect(Reflect.has(place, member) && Reflect.deleteProperty(place, member)).toBe(true);
    else Reflect.set(place, member, value);
    expect(document).not.toEqual(printed());
    return document;
  }
  const TOKEN = ['paths', '/tokens/{id}', 'get'];
  const LIST = ['paths', '/tokens', 'get'];
  const JSON_OF_CREATED = ['paths', '/tokens', 'post', 'responses', '201', 'content', 'application/json'];

  it.each<readonly [string, Damage]>([
    ['no version', [['info'], 'version']],
    ['a parameter in an unknown place', [[...TOKEN, 'parameters', '0'], 'in', 'hat']],
    ['a response that is no object', [[...LIST, 'responses'], '200', 3]],
    ['a security scheme without a name', [['components', 'securitySchemes', 'ApiKey'], 'name']],
  ])('control: both validators reject %s', async (_what, damage) => {
    expect(await seriousme(damaged(damage))).not.toEqual([]);
    expect(await redocly(damaged(damage))).not.toEqual([]);
  });

  it.each<readonly [string, string, Damage]>([
    ['a dangling reference', 'no-unresolved-refs', [['components', 'schemas'], 'Condition']],
    ['an id twice', 'operation-operationId-unique', [LIST, 'operationId', 'getTenant']],
    ['a path parameter too few', 'path-parameters-defined', [TOKEN, 'parameters', []]],
    [
      'an example that its schema refuses',
      'no-invalid-media-type-examples',
      [[...JSON_OF_CREATED, 'examples', 'card', 'value'], 'tenant_id', 'x'],
    ],
    [
      'a parameter example that its schema refuses',
      'no-invalid-parameter-examples',
      [['paths', '/applications/{id}', 'get', 'parameters', '0'], 'example', 'x'],
    ],
    ['a component that nothing uses', 'no-unused-components', [['components', 'schemas'], 'Spare', {}]],
  ])('control: %s is rejected by %s', async (_what, rule, damage) => {
    expect((await redocly(damaged(damage))).join()).toContain(rule);
  });
});

describe('each row of the table', () => {
  const document = printed();
  const at = (row: Operation) => document['paths']?.[row.path]?.[row.method.toLowerCase()] ?? {};

  it('has exactly one operation', () => {
    const found = Object.entries(document['paths'] ?? {}).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => [operationId, `${method.toUpperCase()} ${path}`]),
    );
    expect(Object.fromEntries(found)).toEqual(
      Object.fromEntries(ROWS.map(([id, { method, path }]) => [id, `${method} ${path}`])),
    );
  });

  it.each(ROWS)('%s documents its permission, body, parameters, results and problems', (_id, row) => {
    const found = at(row);
    expect(found['x-permission']).toBe(row.permission);
    expect(found['description']).toContain(row.permission ? `\`${row.permission}\`` : 'any valid API key');
    expect(Object.keys(found['requestBody']?.['content'] ?? {})).toEqual(
      row.body ? [row.mediaType ?? 'application/json'] : [],
    );
    const names = Object.values(found['parameters'] ?? {}).flatMap(({ name }) => name ?? []);
    expect(names).toEqual([...Object.keys(row.params?.properties ?? {}), ...Object.keys(row.query?.properties ?? {})]);
    const responses = found['responses'] ?? {};
    expect(Object.keys(responses[row.status]?.['content'] ?? {})).toEqual(row.result ? ['application/json'] : []);
    expect(Object.keys(responses)).toEqual(
      expect.arrayContaining(['400', '401', '403', '421', '429', '500', '503', '507', 'default']),
    );
    const namesOne = row.params !== undefined || row.body?.properties?.['application_id'] !== undefined;
    expect('404' in responses).toBe(namesOne);
    expect('415' in responses).toBe(row.body !== undefined);
    expect('413' in responses).toBe(row.body !== undefined);
  });
});

describe('schemas', () => {
  const document = printed();
  const schemas = document['components']?.['schemas'] ?? {};

  it('are named once and referenced', () => {
    const wanted = 'AccessRule Application Condition Pagination Problem Tenant TenantSettings Token UsageReport'.split(
      ' ',
    );
    expect(Object.keys(schemas)).toEqual(expect.arrayContaining(wanted));
    expect(schemas['Application']?.['properties']?.['rules']?.['items']).toEqual({
      $ref: '#/components/schemas/AccessRule',
    });
    expect(schemas['AccessRule']?.['properties']?.['conditions']?.['items']).toEqual({
      $ref: '#/components/schemas/Condition',
    });
    expect(schemas['TokenPage']?.['properties']?.['pagination']).toEqual({ $ref: '#/components/schemas/Pagination' });
    // A copy with its own description is a reference, too.
    expect(schemas['UpdateTenant']?.['properties']?.['settings']).toEqual({
      $ref: '#/components/schemas/TenantSettings',
      description: 'The new settings; unchanged by default.',
    });
  });
});

describe('the metadata filter', () => {
  it('is an exploded object whose keys include the prefix', () => {
    const parameters = Object.values(printed()['paths']?.['/tokens']?.['get']?.['parameters'] ?? {});
    const metadata = parameters.find(({ name }) => String(name) === 'metadata');
    expect(metadata).toMatchObject({
      in: 'query',
      style: 'form',
      explode: true,
      example: { 'metadata.customer': '42' },
    });
    expect(metadata?.['schema']).toMatchObject({ type: 'object', propertyNames: { pattern: '^metadata\\..' } });
  });
});
