import { expect, test } from 'vitest';
import { matches } from '../../src/core/access/grants.ts';
import { containerPrefixes, normalizeContainers } from '../../src/core/tokens/containers.ts';
import { readVectors } from '../vectors/read-vectors.ts';

const vectors = readVectors<{
  normalized: { sent: string[]; kept: string[] }[];
  prefixes: { containers: string[]; prefixes: string[] }[];
  at_or_below: { container: string; rule: string; reached: boolean }[];
}>('containers');

test.each(vectors.normalized)('normalizeContainers: $sent', ({ sent, kept }) => {
  expect(normalizeContainers(sent)).toEqual(kept);
});

test.each(vectors.prefixes)('containerPrefixes: $containers', ({ containers, prefixes }) => {
  expect(containerPrefixes(containers)).toEqual(prefixes);
});

test.each(vectors.at_or_below)('$container under a rule for $rule: $reached', ({ container, rule, reached }) => {
  expect(matches({ container: rule }, { id: '', containers: [container] })).toBe(reached);
});
