import { describe, expect, it } from 'vitest';
import { EXAMPLE_REQUESTS } from '../../scripts/example-requests.ts';
import { EXAMPLES } from '../../src/contract/openapi/examples.generated.ts';
import { openApi } from '../../src/contract/openapi/openapi.ts';
import { INVALID_EXAMPLE } from '../../src/contract/openapi/problems.ts';
import { OPERATIONS, type Operation, type OperationId } from '../../src/contract/operations.ts';
import { isApiKey } from '../../src/core/applications/api-key.ts';
import { openTestVault } from '../test-vault.ts';

describe('the examples of the document', () => {
  it.each(Object.keys(OPERATIONS) as OperationId[])('%s has examples with its results', (id) => {
    const { status }: Operation = OPERATIONS[id];
    const examples = Object.values(EXAMPLES[id]);
    expect(Object.keys(EXAMPLES[id])).toEqual(Object.keys(EXAMPLE_REQUESTS[id]));
    expect(examples.length).toBeGreaterThan(0);
    for (const { result } of examples) expect(result === undefined).toBe(status === 204);
  });

  it('are all in the document, without references', () => {
    const text = JSON.stringify(openApi({ version: '1' }));
    for (const example of Object.values(EXAMPLES).flatMap((examples) => Object.values(examples))) {
      if (example.body !== undefined) expect(text).toContain(`"value":${JSON.stringify(example.body)}`);
      if (example.result !== undefined) expect(text).toContain(`"value":${JSON.stringify(example.result)}`);
      if (example.params !== undefined) expect(text).toContain(`"example":${JSON.stringify(example.params['id'])}`);
    }
    expect(JSON.stringify(EXAMPLE_REQUESTS)).toContain('"$createToken.card.id"');
    expect(JSON.stringify(EXAMPLES)).not.toMatch(/"\$\w/);
  });

  it('contain no valid API key', () => {
    const keys = JSON.stringify(EXAMPLES).match(/key_[A-Za-z0-9]{32}/g) ?? [];
    expect(new Set(keys).size).toBe(5);
    expect(keys.filter(isApiKey)).toEqual([]);
  });
});

describe('problems', () => {
  it('the example of a 400 equals a real reply', async () => {
    const world = await openTestVault();
    const key = await world.application({ name: 'a', type: 'private', permissions: ['token:create'] });
    const { operation, body, errors } = INVALID_EXAMPLE;
    const answer = await world.call(key, operation, { body });
    const documented = JSON.parse(JSON.stringify(openApi({ version: '1' }))).components.responses.BadRequest;
    const { value } = documented.content['application/problem+json'].examples.invalid_request;
    expect(JSON.parse(answer.text)).toEqual({ ...value, errors, instance: answer.at('instance') });
  });

  const UNKNOWN = { params: { id: '00000000-0000-4000-8000-000000000000' } };
  it.each([
    ['Unauthorized', 'unauthenticated', undefined, 'getTenant', {}],
    ['NotFound', 'application_not_found', 'management', 'getApplication', UNKNOWN],
  ] as const)('%s %s is a real answer', async (response, code, who, id, parts) => {
    const world = await openTestVault();
    const { status, text } = await world.call(who && world.management, id, parts);
    const documented = JSON.parse(JSON.stringify(openApi({ version: '1' }))).components.responses[response];
    const { value } = documented.content['application/problem+json'].examples[code];
    expect(status).toBe(value.status);
    expect(JSON.parse(text)).toEqual({ ...value, instance: JSON.parse(text).instance });
  });
});
