import { beforeAll, describe, expect, it } from 'vitest';
import { EXAMPLES, type Examples } from '../../src/contract/openapi/examples/examples.ts';
import { openApi } from '../../src/contract/openapi/openapi.ts';
import { INVALID_EXAMPLE } from '../../src/contract/openapi/problems.ts';
import { OPERATIONS, type OperationId } from '../../src/contract/operations.ts';
import { isApiKey } from '../../src/core/applications/api-key.ts';
import { atEndOfSuite } from '../temporary-folder.ts';
import { openTestVault } from '../test-vault.ts';
import { playExample, playExamples, type Scene } from './openapi-story.ts';

const atEnd = atEndOfSuite();
let scenes: readonly Scene[];
beforeAll(async () => {
  scenes = await playExamples(EXAMPLES, atEnd);
});

const differencesOf = (played: readonly Scene[]) =>
  played.flatMap(({ id, name, differences }) => differences.map((path) => `${id} ${name} ${path}`));

describe('the examples of the document', () => {
  it.each(Object.keys(OPERATIONS) as OperationId[])('%s returns the results of its examples', (id) => {
    const played = scenes.filter((scene) => scene.id === id);
    expect(played.map(({ name }) => name)).toEqual(Object.keys(EXAMPLES[id]));
    expect(played.length).toBeGreaterThan(0);
    for (const scene of played) expect({ ...scene, status: OPERATIONS[id].status, differences: [] }).toEqual(scene);
  });

  it('are all in the document', () => {
    const text = JSON.stringify(openApi({ version: '1' }));
    for (const { example } of scenes) {
      if (example.body !== undefined) expect(text).toContain(`"value":${JSON.stringify(example.body)}`);
      if (example.result !== undefined) expect(text).toContain(`"value":${JSON.stringify(example.result)}`);
      if (example.params !== undefined) expect(text).toContain(`"example":${JSON.stringify(example.params['id'])}`);
    }
  });

  it('contain no valid API key', () => {
    const keys = JSON.stringify(EXAMPLES).match(/key_[A-Za-z0-9]{32}/g) ?? [];
    expect(new Set(keys).size).toBe(5);
    expect(keys.filter(isApiKey)).toEqual([]);
  });
});

describe('control: a changed example is reported', () => {
  const changed = (id: OperationId, name: string, result: object): Examples => {
    const example = EXAMPLES[id][name];
    if (example === undefined) throw new Error(`no example ${name}`);
    return { ...EXAMPLES, [id]: { ...EXAMPLES[id], [name]: { ...example, result } } };
  };
  const [ID, TIME] = ['91c21f25-11f4-467a-8d3e-bf30cd94e0ef', '2026-03-01T09:34:00.000+00:00'];
  const resultOf = (id: OperationId, name: string): object => Object(EXAMPLES[id][name]?.result);

  it.each<readonly [string, OperationId, string, object, string]>([
    ['a changed value', 'getTenant', 'tenant', { name: 'other' }, 'getTenant tenant body.name'],
    ['a member too many', 'getTenant', 'tenant', { colour: 'red' }, 'getTenant tenant body: '],
    ['a member too few', 'getToken', 'card', { data: { number: '4242424242424242' } }, 'getToken card body.data: '],
    ['an id of another thing', 'getToken', 'card', { created_by: ID }, 'getToken card body.created_by'],
    ['one time for two', 'createToken', 'text', { created_at: TIME }, 'createToken text body.created_at'],
    ['another type of value', 'getUsageReport', 'month', { token_report: 1 }, 'getUsageReport month body.token_report'],
  ])('%s', async (_what, id, name, change, complaint) => {
    const drifted = await playExamples(changed(id, name, { ...resultOf(id, name), ...change }));
    expect(differencesOf(drifted).join('\n')).toContain(complaint);
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
    const { status, text } = await playExample(world, who && world.management, id, { summary: '', ...parts });
    const documented = JSON.parse(JSON.stringify(openApi({ version: '1' }))).components.responses[response];
    const { value } = documented.content['application/problem+json'].examples[code];
    expect(status).toBe(value.status);
    expect(JSON.parse(text)).toEqual({ ...value, instance: JSON.parse(text).instance });
  });
});
