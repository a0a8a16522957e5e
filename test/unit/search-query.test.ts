import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseQuery, type Query, QueryError } from '../../src/core/search/parse-query.ts';
import { createDraw } from '../checks/model-fuzz-bodies.ts';
import { randomQuery } from '../checks/random-query.ts';

/** Formats a query: `field key=value`, `a & b`, `a | b`, `!a`, `field from..to`. */
function show(query: Query): string {
  if (query.kind === 'and') return `(${query.parts.map(show).join(' & ')})`;
  if (query.kind === 'or') return `(${query.parts.map(show).join(' | ')})`;
  if (query.kind === 'not') return `!${show(query.part)}`;
  if (query.kind === 'match') {
    return `${query.field}${query.key === undefined ? '' : `.${query.key}`}${query.below ? '<=' : '='}${query.value}`;
  }
  const { from, to, fromInclusive, toInclusive } = query;
  const time = (at: number | undefined) => (at === undefined ? '*' : new Date(at).toISOString());
  return `${query.field}${fromInclusive ? '[' : '{'}${time(from)}..${time(to)}${toInclusive ? ']' : '}'}`;
}

function refusal(text: string): string {
  try {
    return `no refusal: ${show(parseQuery(text))}`;
  } catch (error) {
    if (error instanceof QueryError) return error.message;
    throw error;
  }
}

const DAY = '2026-01-02T00:00:00.000Z..2026-01-02T23:59:59.999Z';

const FIELD =
  'position 1: unknown field; use data, id, fingerprint, type, container, created_by, modified_by, metadata.KEY, created_at, modified_at, expires_at';
const VALUE = 'position 6: expected a value; put quotes around blanks, parentheses and brackets';
const TYPE =
  'unknown type; use token, card, bank, card_number, us_bank_account_number, us_bank_routing_number, social_security_number, employer_id_number';

describe('a query', () => {
  it.each([
    ['type:card', 'type=card'],
    ['  type:card  ', 'type=card'],
    ['type:card id:abc', '(type=card & id=abc)'],
    ['type:card AND id:abc AND data:x', '(type=card & id=abc & data=x)'],
    ['type:card OR id:abc data:x', '(type=card | (id=abc & data=x))'],
    ['(type:card OR id:abc) data:x', '((type=card | id=abc) & data=x)'],
    ['(type:card)', 'type=card'],
    ['((type:card))AND(id:abc)', '(type=card & id=abc)'],
    ['NOT type:card', '!type=card'],
    ['!type:card -id:abc', '(!type=card & !id=abc)'],
    ['NOT(type:card OR id:abc)', '!(type=card | id=abc)'],
    ['NOT (NOT type:card)', 'type=card'],
    ['metadata.customer:42', 'metadata.customer=42'],
    ['metadata.a.b:42', 'metadata.a.b=42'],
    ['metadata."a key":42', 'metadata.a key=42'],
    ['metadata.k:""', 'metadata.k='],
    ['data:"a \\"b\\" \\\\"', 'data=a "b" \\'],
    ['data:a:b', 'data=a:b'],
    ['data:AND', 'data=AND'],
    ['id:OR OR id:NOT', '(id=OR | id=NOT)'],
    ['id:tok-1_2.3@x', 'id=tok-1_2.3@x'],
    ['id:ünï', 'id=ünï'],
    ['container:/pci/', 'container=/pci/'],
    ['container:/pci/*', 'container<=/pci/'],
    ['container:*', 'container<=/'],
    ['container:"/pci/*"', 'container=/pci/*'],
    ['type:"card"', 'type=card'],
    ['id:"tok*"', 'id=tok*'],
    ['data:"4?42^2"', 'data=4?42^2'],
    ['metadata."k*":"*"', 'metadata.k*=*'],
    ['data:a~1', 'data=a~1'],
    ['created_by:x modified_by:y fingerprint:z', '(created_by=x & modified_by=y & fingerprint=z)'],
    ['created_at:2026-01-02', `created_at[${DAY}]`],
    ['modified_at:[2026-01-02 TO 2026-01-02]', `modified_at[${DAY}]`],
    ['expires_at:[* TO *]', 'expires_at[*..*]'],
    ['created_at:[ 2026-01-02 TO * ]', 'created_at[2026-01-02T00:00:00.000Z..*]'],
    ['created_at:{2026-01-02 TO *]', 'created_at{2026-01-02T23:59:59.999Z..*]'],
    ['created_at:[* TO 2026-01-02}', 'created_at[*..2026-01-02T00:00:00.000Z}'],
    ['created_at:[2026-01-02T10:00 TO *]', 'created_at[2026-01-02T10:00:00.000Z..*]'],
    ['created_at:[2026-01-02T10:00:00.5+01:00 TO *]', 'created_at[2026-01-02T09:00:00.500Z..*]'],
  ])('%s', (text, meaning) => {
    expect(show(parseQuery(text))).toBe(meaning);
  });

  it.each([
    ['card', 'position 1: expected FIELD:VALUE'],
    [' ', 'position 2: expected FIELD:VALUE'],
    ['AND', 'position 1: expected FIELD:VALUE'],
    ['type:card AND', 'position 11: expected FIELD:VALUE'],
    ['type:card AND OR id:x', 'position 15: expected FIELD:VALUE'],
    ['type:card and id:x', 'position 11: expected FIELD:VALUE'],
    ['NOT', 'position 1: expected FIELD:VALUE'],
    ['NOT NOT id:x', 'position 5: expected FIELD:VALUE'],
    ['colour:red', FIELD],
    ['metadata:red', FIELD],
    ['data.x:red', FIELD],
    ['type:', VALUE],
    ['type: card', VALUE],
    ['type:[a TO b]', VALUE],
    ['data:"x', 'position 6: expected a closing quote'],
    ['data:"x\\y"', 'position 6: expected a closing quote'],
    ['(type:card', 'position 11: expected ")"'],
    ['type:card)', 'position 10: expected AND, OR or the end of the query'],
    ['😀:x', 'position 1: expected FIELD:VALUE'],
    ['id:😀 x', 'position 6: expected FIELD:VALUE'],
    ['container:/pci*', 'position 11: expected / before *'],
    ['type:kard', `position 6: ${TYPE}`],
    ['id:x AND type:"a card"', `position 15: ${TYPE}`],
    ['type:Card', `position 6: ${TYPE}`],
    ['type:c*', 'position 7: a wildcard is allowed only after a container; put quotes around a plain *'],
    ['data:42*', 'position 8: a wildcard is allowed only after a container; put quotes around a plain *'],
    ['data:*', 'position 6: a wildcard is allowed only after a container; put quotes around a plain *'],
    ['data:4?42', 'position 7: a wildcard is allowed only after a container; put quotes around a plain ?'],
    ['id:😀*', 'position 5: a wildcard is allowed only after a container; put quotes around a plain *'],
    ['metadata.customer:4*2', 'position 20: a wildcard is allowed only after a container; put quotes around a plain *'],
    ['metadata.cust*:42', 'position 14: a wildcard is allowed only after a container; put quotes around a plain *'],
    ['created_by:* id:x', 'position 12: a wildcard is allowed only after a container; put quotes around a plain *'],
    ['fingerprint:ab?', 'position 15: a wildcard is allowed only after a container; put quotes around a plain ?'],
    ['container:/p*/x/', 'position 13: a wildcard is allowed only after a container; put quotes around a plain *'],
    ['container:/a/*/*', 'position 14: a wildcard is allowed only after a container; put quotes around a plain *'],
    ['container:/pci?', 'position 15: a wildcard is allowed only after a container; put quotes around a plain ?'],
    ['data:x^2', 'position 7: boosts are not available; put quotes around a plain ^'],
    ['data:"x"^2', 'position 9: boosts are not available; put quotes around a plain ^'],
    ['(id:x OR id:y)^2 id:z', 'position 15: boosts are not available; put quotes around a plain ^'],
    ['metadata.k^:x', 'position 11: boosts are not available; put quotes around a plain ^'],
    ['^', 'position 1: boosts are not available; put quotes around a plain ^'],
    ['id:x ^ id:y', 'position 6: boosts are not available; put quotes around a plain ^'],
    ['container:/pci/^2', 'position 16: boosts are not available; put quotes around a plain ^'],
    ['*:*', 'position 1: expected FIELD:VALUE'],
    ['created_at:2026*', 'position 12: expected a day (YYYY-MM-DD) or a range such as [2026-01-01 TO *]'],
    ['created_at:x', 'position 12: expected a day (YYYY-MM-DD) or a range such as [2026-01-01 TO *]'],
    ['created_at:2026-02-30', 'position 12: expected a day (YYYY-MM-DD) or a range such as [2026-01-01 TO *]'],
    ['created_at:2026-01-02T10:00', 'position 12: expected a day (YYYY-MM-DD) or a range such as [2026-01-01 TO *]'],
    ['created_at:[2026-01-02]', 'position 12: expected a day (YYYY-MM-DD) or a range such as [2026-01-01 TO *]'],
    ['created_at:[x TO *]', 'position 12: expected a day (YYYY-MM-DD), a date-time or * on both sides of TO'],
    [
      'created_at:[2026-01-02T24:00 TO *]',
      'position 12: expected a day (YYYY-MM-DD), a date-time or * on both sides of TO',
    ],
    ['created_at:[2026-01-03 TO 2026-01-02]', 'position 12: the range is empty'],
    [Array(65).fill('id:x').join(' '), 'position 321: more than 64 clauses'],
    [`${'('.repeat(21)}id:x${')'.repeat(21)}`, 'position 21: more than 20 levels of nested parentheses'],
  ])('%s is rejected', (text, message) => {
    expect(refusal(text)).toBe(message);
  });

  it('is valid in each example of docs/search.md', () => {
    const page = readFileSync(new URL('../../docs/search.md', import.meta.url), 'utf8');
    const queries = [...page.matchAll(/tokens search '([^']+)'|^\| `(\w+_at:[^`]+)` \|/gm)].map(
      ([, a, b]) => a ?? b ?? '',
    );
    expect(queries.length).toBeGreaterThan(5);
    for (const query of queries) expect(() => parseQuery(query), query).not.toThrow();
  });

  it('may have 64 clauses and 20 parentheses', () => {
    expect(show(parseQuery(Array(64).fill('id:x').join(' '))).split('&')).toHaveLength(64);
    expect(show(parseQuery(`${'('.repeat(20)}id:x${')'.repeat(20)}`))).toBe('id=x');
  });

  it('has the meaning that it was written with', () => {
    const draw = createDraw(1);
    const [now, id] = [Date.parse('2026-06-07T08:09:10.011Z'), () => draw.one(['an id', 'b(c)'])];
    const named = { now, id, fingerprint: () => 'print', application: () => 'app' };
    let longest = 0;
    for (let n = 0; n < 2_000; n++) {
      const { text, query } = randomQuery(draw, named);
      expect(show(parseQuery(text)), text).toBe(show(query));
      if (query.kind !== 'match') longest = Math.max(longest, text.split(':').length);
    }
    expect(longest).toBeGreaterThan(10);
  });

  it('either parses or fails with a position', () => {
    const words = 'type:card id: " \\ ( ) AND OR NOT - ! [ ] { TO * created_at: metadata. k: 2026-01-02 x 😀'.split(
      ' ',
    );
    const piece = fc.constantFrom(...words, ' ', ' TO ');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const text = pieces.join('');
        const message = refusal(text);
        expect(message).toMatch(/^no refusal: |^position \d+: /);
        const [, position = '1'] = /^position (\d+)/.exec(message) ?? [];
        expect(Number(position)).toBeLessThanOrEqual([...text].length + 1);
      }),
      { numRuns: 20_000 },
    );
  });
});
