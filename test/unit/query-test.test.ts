import { describe, expect, it } from 'vitest';
import { JsonText } from '../../src/core/json/stringify.ts';
import type { IndexPurpose, TenantKeyring } from '../../src/core/ports.ts';
import { parseQuery } from '../../src/core/search/parse-query.ts';
import { type OpenedToken, queryTest } from '../../src/core/search/query-test.ts';
import { joinNames, searchIndexes, underIndexKey } from '../../src/core/tokens/indexes.ts';

const blindOf = (key: number) => (_purpose: IndexPurpose, value: string) =>
  new Uint8Array(16).map((_, at) => key * 50 + (value.charCodeAt(at % value.length) % 50));
const key = (key_id: number) => ({ key_id, blindIndex: blindOf(key_id), fingerprint: () => '' });

/** A keyring in a rotation of its index keys, from 2 to 4. */
const KEYRING: TenantKeyring = {
  ...key(4),
  keyIds: { key_id: 3, index_key_id: 4 },
  formerIndexKeys: [key(2)],
  seal: () => new Uint8Array(),
  open: () => '',
};

const AT = Date.parse('2026-03-04T05:06:07.008Z');
const ONE = '7d3c1c0a-5a3c-4f0e-9a53-1f6f0b8a2c12';
const TWO = '7d3c1c0a-5a3c-4f0e-9a53-1f6f0b8a2c13';

const tokenUnder = (index_key_id: number): OpenedToken => ({
  id: 'a-token',
  columns: { type: 'card', key_id: 1, index_key_id, created_by: ONE, created_at: AT, revision: 1, modified_by: TWO },
  details: {
    containers: ['/pci/high/', '/shop/'],
    fingerprint: 'J6mE9HuhLubf',
    metadata: new JsonText('{"name":"Straße","2":"x","__proto__":"own"}'),
    searched: joinNames(searchIndexes(underIndexKey(KEYRING, index_key_id), ['4242', 'Zoë'])),
  },
});

const MATCHING = [
  'data:4242',
  'data:ZOË',
  'metadata.name:STRASSE',
  'metadata.2:X',
  'metadata.__proto__:own',
  'id:a-token',
  'fingerprint:J6mE9HuhLubf',
  'type:card',
  `created_by:${ONE}`,
  `modified_by:${TWO}`,
  'container:/pci/high/',
  'container:/PCI/*',
  'container:*',
  'created_at:2026-03-04',
  'created_at:[2026-03-04T05:06:07.008Z TO *]',
  'created_at:{* TO 2026-03-05}',
];

const DIFFERENT = [
  'data:424',
  'data:nothing',
  'metadata.Name:strasse',
  'metadata.toString:x',
  'id:A-token',
  'fingerprint:J6mE9HuhLub',
  'type:bank',
  `created_by:${TWO}`,
  `modified_by:${ONE}`,
  'container:/pci/',
  'container:/pc/*',
  'created_at:2026-03-05',
  'created_at:{2026-03-04T05:06:07.008Z TO *]',
  'modified_at:[* TO *]',
  'expires_at:[* TO *]',
];

describe.each([4, 2])('a token under index key %i', (index_key_id) => {
  const matches = (query: string) => queryTest(parseQuery(query), KEYRING)(tokenUnder(index_key_id));

  it.each(MATCHING)('matches %s', (query) => {
    expect([query, `NOT ${query}`, `id:x OR ${query}`, `id:a-token AND ${query}`].map(matches)).toEqual([
      true,
      false,
      true,
      true,
    ]);
  });

  it.each(DIFFERENT)('does not match %s', (query) => {
    expect([query, `NOT ${query}`, `id:a-token OR ${query}`, `id:a-token AND ${query}`].map(matches)).toEqual([
      false,
      true,
      true,
      false,
    ]);
  });
});

it('blind indexes and clauses on data need the index key of the token', () => {
  const test = queryTest(parseQuery('NOT data:4242'), KEYRING);
  const unknown = { ...tokenUnder(4), columns: { ...tokenUnder(4).columns, index_key_id: 6 } };
  expect(test(tokenUnder(2))).toBe(false);
  expect(() => test(unknown)).toThrow('integrity_failure');
  expect(() => underIndexKey(KEYRING, 6)).toThrow('integrity_failure');
});
