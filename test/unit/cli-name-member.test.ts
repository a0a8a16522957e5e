import { describe, expect, it } from 'vitest';
import { memberNamer } from '../../src/cli/derive/name-member.ts';

describe('the name of a member in a problem', () => {
  it.each<readonly [string, Readonly<Record<string, readonly string[]>>, string]>([
    ['containers.0', { container: ['x'] }, '--container'],
    ['containers.1', { container: ['/a/', 'x'] }, '--container (value 2)'],
    ['containers', { container: ['/a/'] }, '--container'],
    ['search_indexes.0', { 'search-index': ['{{'] }, '--search-index'],
    ['data.number', { data: ['{}'] }, '--data number'],
    ['data.0.1', { data: ['[]'] }, '--data 0.1'],
    ['data', { text: ['x'] }, '--text'],
    ['metadata.a.b', { metadata: ['a.b=c'] }, '--metadata a.b'],
    ['type', { type: ['x'] }, '--type'],
    ['expires_at', { 'expires-at': ['tomorrow'] }, '--expires-at'],
    // The member was not typed, or no flag sets it.
    ['data', {}, '--data'],
    ['containers', {}, '--container'],
    ['foo', {}, 'foo'],
  ])('%s of %j is %s', (path, members, name) => {
    expect(memberNamer('createToken', { members })(path)).toBe(name);
  });

  it.each<readonly [string, readonly string[], string]>([
    ['rules.0.container', ['container=x'], '--rule container'],
    ['rules.0.permissions.0', ['container=/a/', 'container=/b/'], '--rule (value 1) permissions.0'],
    ['rules.2.container', ['[{},{},{}]'], '--rule (value 3) container'],
    ['rules.0.container', ['@rules.json'], '--rule (value 1) container'],
    ['rules.0.container', ['-'], '--rule (value 1) container'],
  ])('%s of %j is %s', (path, rule, name) => {
    expect(memberNamer('createApplication', { members: { rule } })(path)).toBe(name);
  });

  it('is that of the body when --body is given', () => {
    expect(memberNamer('createToken', { members: {}, body: '@body.json' })('expires_at')).toBe('expires_at');
  });

  it('is the flag in a query, too, but not for an argument', () => {
    expect(memberNamer('listTokens', { members: { size: ['5000'] } })('size')).toBe('--size');
    expect(memberNamer('listTokens', { members: { metadata: ['a=b'] } })('metadata.a')).toBe('--metadata a');
    expect(memberNamer('getToken', { members: {} })('id')).toBe('id');
  });
});
