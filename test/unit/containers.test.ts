import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { containerPrefixes, isAtOrBelow, normalizeContainers } from '../../src/core/tokens/containers.ts';
import { readVectors } from '../vectors/read-vectors.ts';

const vectors = readVectors<{
  normalized: { sent: string[]; kept: string[] }[];
  prefixes: { containers: string[]; prefixes: string[] }[];
  at_or_below: { container: string; rule: string; reached: boolean }[];
}>('containers');

const container = fc
  .array(fc.constantFrom('a', 'b', 'ab', 'a-b', 'a_b', '1'), { maxLength: 4 })
  .map((segments) => ['', ...segments, ''].join('/').replace('//', '/'));

test.each(vectors.normalized)('normalizeContainers: $sent', ({ sent, kept }) => {
  expect(normalizeContainers(sent)).toEqual(kept);
});

test.each(vectors.prefixes)('containerPrefixes: $containers', ({ containers, prefixes }) => {
  expect(containerPrefixes(containers)).toEqual(prefixes);
});

describe('isAtOrBelow', () => {
  test.each(vectors.at_or_below)('$container under a rule for $rule: $reached', ({ container, rule, reached }) => {
    expect(isAtOrBelow(container, rule)).toBe(reached);
  });

  test('agrees with containerPrefixes for any rule', () => {
    fc.assert(
      fc.property(fc.array(container, { minLength: 1, maxLength: 4 }), container, (containers, rule) => {
        const reached = containers.some((one) => isAtOrBelow(one, rule));
        expect(rule === '/' || containerPrefixes(containers).includes(rule)).toBe(reached);
      }),
      { numRuns: 1000 },
    );
  });
});
