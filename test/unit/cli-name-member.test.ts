import { describe, expect, it } from 'vitest';
import { memberNames } from '../../src/cli/derive/name-member.ts';

describe('a member that a problem names', () => {
  it.each<readonly [string, Readonly<Record<string, readonly string[]>>, string]>([
    ['containers.0', { container: ['x'] }, '--container'],
    ['containers.1', { container: ['/a/', 'x'] }, '--container (value 2)'],
    ['containers', { container: ['/a/'] }, '--container'],
    ['search_indexes.0', { 'search-index': ['{{'] }, '--search-index'],
    ['data.number', { data: ['{}'] }, 'data.number'],
    ['metadata.a', { metadata: ['a=b'] }, 'metadata.a'],
    ['type', { type: ['x'] }, 'type'],
    // A whole body, and a member that was not typed.
    ['containers.0', {}, 'containers.0'],
  ])('%s of %j is %s', (path, members, name) => {
    expect(memberNames('createToken', { members })(path)).toBe(name);
  });

  it.each<readonly [string, readonly string[], string]>([
    ['rules.0.container', ['container=x'], '--rule container'],
    ['rules.0.permissions.0', ['container=/a/', 'container=/b/'], '--rule (value 1) permissions.0'],
    ['rules.2.container', ['[{},{},{}]'], '--rule (value 3) container'],
    ['rules.0.container', ['@rules.json'], '--rule (value 1) container'],
    ['rules.0.container', ['-'], '--rule (value 1) container'],
  ])('%s of %j is %s', (path, rule, name) => {
    expect(memberNames('createApplication', { members: { rule } })(path)).toBe(name);
  });
});
