import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ruleWarnings } from '../../src/console/page/apps/rule-warnings.ts';
import { daysIn, withDays } from '../../src/console/page/tokens/days-in-query.ts';
import { createText, EMPTY_DRAFT, patchText } from '../../src/console/page/tokens/token-draft.ts';

// The drafts behind the console's forms (design of the console, §6.3 and §6.4).

describe('a warning', () => {
  const at = (priority: number, container: string, transform: string, ...permissions: string[]) => ({
    description: '',
    priority,
    container,
    transform,
    permissions,
  });

  it('is never about the rule that comes first', () => {
    const [first, second] = [at(1, '/pci/', 'mask', 'token:read'), at(2, '/', 'mask', 'token:read')];
    expect(ruleWarnings(first as never, [first, second] as never, [], true)).toEqual([]);
  });

  it.each([
    ['none', [at(1, '/pci/', 'mask', 'token:read')], [], []],
    [
      'a rule after one that covers it',
      [at(1, '/', 'mask', 'token:read'), at(2, '/pci/', 'mask', 'token:read')],
      [],
      ['Never governs: rule 1 comes first.'],
    ],
    [
      'a permission after one that covers it',
      [at(1, '/', 'mask', 'token:read'), at(2, '/pci/', 'mask', 'token:read', 'token:delete')],
      [],
      ['Never governs token:read: rule 1 comes first.'],
    ],
    ['a narrower rule first', [at(1, '/pci/', 'mask', 'token:read'), at(2, '/', 'mask', 'token:read')], [], []],
    ['reveal everywhere', [at(1, '/', 'reveal', 'token:read')], [], ['Reveals every token.']],
    ['reveal to a writer', [at(1, '/', 'reveal', 'token:create')], [], []],
    [
      'a blind update',
      [at(1, '/pci/', 'mask', 'token:update')],
      [],
      ['Grants token:update without token:read: the application changes tokens whose data it cannot see.'],
    ],
    ['an update of what is read plainly', [at(1, '/pci/', 'mask', 'token:update')], ['token:read'], []],
    [
      'an update of what another rule reads',
      [at(1, '/', 'mask', 'token:read'), at(2, '/pci/', 'mask', 'token:update')],
      [],
      [],
    ],
  ] as const)('about the last rule: %s', (_, rules, plain, warnings) => {
    expect(ruleWarnings(rules.at(-1) as never, rules as never, plain as never, true)).toEqual(warnings);
  });
});

describe('the text of', () => {
  it.each([
    [{ type: 'token', data: 'a text' }, '{"type":"token","data":"a text"}'],
    [{ type: 'token', data: '1.10' }, '{"type":"token","data":1.10}'],
    [{ type: 'card_number', data: '4242424242424242' }, '{"type":"card_number","data":"4242424242424242"}'],
    [{ type: 'card_number', data: '"4242"' }, '{"type":"card_number","data":"4242"}'],
    [{ type: 'card', data: '{"number":"1"}' }, '{"type":"card","data":{"number":"1"}}'],
  ] as const)('a create: %j', (typed, text) => {
    expect(createText({ ...EMPTY_DRAFT, ...typed })).toBe(text);
  });

  const before = { ...EMPTY_DRAFT, containers: '/a/', metadata: 'a=1\nb=2', expires_at: '2035-01-01' };
  it.each([
    [{}, '{}'],
    [{ data: '"x"' }, '{"data":"x"}'],
    [{ mask: 'null' }, '{"mask":null}'],
    [{ search_indexes: 'null' }, '{"search_indexes":null}'],
    [{ containers: '' }, '{"containers":null}'],
    [{ containers: '/a/\n/b/' }, '{"containers":["/a/","/b/"]}'],
    [{ metadata: 'a=1' }, '{"metadata":{"b":null}}'],
    [{ metadata: '' }, '{"metadata":null}'],
    [{ expires_at: '' }, '{"expires_at":null}'],
    [{ deduplicate_token: 'true' }, '{"deduplicate_token":true}'],
  ])('a patch: %j', (typed, text) => {
    expect(patchText(before, { ...before, ...typed })).toBe(text);
  });
});

describe('the days of a query', () => {
  const { TZ } = process.env;
  beforeAll(() => {
    process.env['TZ'] = 'Europe/Berlin';
  });
  afterAll(() => {
    if (TZ === undefined) delete process.env['TZ'];
    else process.env['TZ'] = TZ;
  });

  const OCTOBER = 'created_at:[2026-10-01T00:00+02:00 TO 2026-11-01T00:00+01:00}';
  const october = { from: '2026-10-01', to: '2026-10-31' };
  it.each([
    ['', OCTOBER],
    ['type:card', `type:card AND ${OCTOBER}`],
    ['type:card OR type:bank', `(type:card OR type:bank) AND ${OCTOBER}`],
    ['created_at:[2026-01-01 TO *] type:card', `${OCTOBER} type:card`],
    ['type:card AND created_at:2026-01-01 AND id:a', `type:card AND ${OCTOBER} AND id:a`],
    ['NOT created_at:2026-01-01', `NOT created_at:2026-01-01 AND ${OCTOBER}`],
    ['expires_at:[* TO 2026-01-01]', `expires_at:[* TO 2026-01-01] AND ${OCTOBER}`],
    ['data:"created_at:[1 TO 2]"', `data:"created_at:[1 TO 2]" AND ${OCTOBER}`],
    [
      'data:"a created_at:[1 TO 2] b" AND (created_at:2026-01-01)',
      `data:"a created_at:[1 TO 2] b" AND (created_at:2026-01-01) AND ${OCTOBER}`,
    ],
    ['not a query', `not a query AND ${OCTOBER}`],
  ])('are those of the browser: %s', (query, changed) => {
    expect(withDays(query, 'created_at', october)).toBe(changed);
  });

  it.each([OCTOBER, `type:card AND ${OCTOBER}`, `${OCTOBER} type:card`])('are read from it: %s', (query) => {
    expect(daysIn(query, 'created_at')).toEqual(october);
    expect(daysIn(query, 'expires_at')).toBeUndefined();
  });

  it.each([
    [OCTOBER, ''],
    [`${OCTOBER} AND type:card`, 'type:card'],
    [`type:card AND ${OCTOBER}`, 'type:card'],
    [`type:card ${OCTOBER} id:a`, 'type:card id:a'],
  ])('are removed from it: %s', (query, changed) => {
    expect(withDays(query, 'created_at', { from: '', to: '' })).toBe(changed);
  });

  it('may have an open end', () => {
    expect(withDays('', 'expires_at', { from: '', to: '2026-10-31' })).toBe('expires_at:[* TO 2026-11-01T00:00+01:00}');
    expect(daysIn('expires_at:[2026-10-01 TO *]', 'expires_at')).toEqual({ from: '2026-10-01', to: '' });
  });
});
