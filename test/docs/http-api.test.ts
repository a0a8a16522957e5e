import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { OPERATIONS, type Operation } from '../../src/contract/operations.ts';
import { atEndOfSuite } from '../temporary-folder.ts';
import { openTestVault, type TestVault } from '../test-vault.ts';
import { undescribed } from './operation-reference.ts';

const PAGE = readFileSync(new URL('../../docs/http-api.md', import.meta.url), 'utf8');
const RULES = PAGE.slice(PAGE.indexOf('\n## Rules\n'), PAGE.indexOf('\n## Logs\n'));

describe('the reference', () => {
  it('describes every parameter and member', () => {
    expect(undescribed()).toEqual([]);
  });

  it('control: a member without a description is reported', () => {
    const schema = { type: 'object', properties: { bare: { type: 'string' } } };
    expect(undescribed({ Bare: schema })).toContain('Bare `bare`');
  });

  it.each(Object.values<Operation>(OPERATIONS).map(({ summary }) => summary))(
    '%s: has at most eight words',
    (summary) => {
      expect(summary.split(' ').length).toBeLessThanOrEqual(8);
    },
  );
});

describe('the rules of the page', () => {
  const MASK = 'masked';
  const SHOWN = new Map<unknown, string>([
    [undefined, 'no `data`'],
    [MASK, '`data`, masked'],
    ['plain', '`data`, whole'],
  ]);
  const [privateRules, expiringRules] = [...RULES.matchAll(/```json\n(.*?)```/gs)].map(([, text = '']) =>
    JSON.parse(text),
  );
  const rows = [...RULES.matchAll(/^\| (`\/.*?`) \| (.*?) \| /gm)].map(([, place = '', shows = '']) => {
    return { containers: [...place.matchAll(/`([^`]+)`/g)].map(([, path]) => path), shows };
  });
  const atEnd = atEndOfSuite();
  let world: TestVault;
  let reader: string;
  let writer: string;

  beforeAll(async () => {
    world = await openTestVault('http-api', { atEnd });
    const all = { description: '', priority: 1, container: '/', transform: 'reveal', permissions: ['token:create'] };
    writer = await world.application({ name: 'writer', type: 'private', rules: [all] });
    reader = await world.application({ name: 'reader', type: 'private', rules: privateRules });
  });

  const tokenIn = async (containers: readonly unknown[]) => {
    const body = { type: 'token', data: 'plain', mask: MASK, containers };
    return String((await world.call(writer, 'createToken', { body })).at('id'));
  };

  it.each(rows)('$containers: $shows', async ({ containers, shows }) => {
    const read = await world.call(reader, 'getToken', { id: await tokenIn(containers) });
    expect([read.status, SHOWN.get(read.at('data'))]).toEqual([200, shows]);
  });

  it('has four rows', () => expect(rows).toHaveLength(4));

  it.each([
    ['/pci/high/', 200],
    ['/bank/high/', 403],
  ])('a change in %s is a %i', async (container, status) => {
    const id = await tokenIn([container]);
    expect((await world.call(reader, 'updateToken', { id, body: { metadata: { a: 'b' } } })).status).toBe(status);
  });

  it('the rules with conditions fit an expiring application', async () => {
    const body = { name: 'receipt', type: 'expiring', rules: expiringRules };
    expect((await world.call(world.management, 'createApplication', { body })).status).toBe(201);
  });
});
