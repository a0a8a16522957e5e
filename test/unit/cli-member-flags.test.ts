import { describe, expect, it } from 'vitest';
import { memberFlags } from '../../src/cli/derive/member-flags.ts';
import { OPERATIONS, type Operation } from '../../src/contract/operations.ts';
import { MAX_INTEGER } from '../../src/contract/page.ts';
import type { Schema } from '../../src/contract/schema.ts';

const ROWS = Object.entries<Operation>(OPERATIONS);

function rowOf(properties: Readonly<Record<string, Schema>>): Operation {
  return { ...OPERATIONS.createToken, body: { type: 'object', properties } };
}

/**
 * Returns the members of query and body that a caller can set. A member that is spread is replaced by its own members,
 * by path.
 */
function membersOf({ query, body, cli: { spread } }: Operation): readonly string[] {
  const all = [query, body]
    .flatMap((schema) => Object.entries(schema?.properties ?? {}))
    .filter(([, schema]) => !schema.readOnly);
  return all.flatMap(([name, schema]) =>
    name === spread ? Object.keys(schema.properties ?? {}).map((inner) => `${name}.${inner}`) : [name],
  );
}

describe('memberFlags', () => {
  it.each(ROWS)('%s: each member of query and body has a flag of its own', (_id, row) => {
    const flags = memberFlags(row);
    expect(new Set(flags.map((flag) => flag.member))).toEqual(new Set(membersOf(row)));
    expect(new Set(flags.map((flag) => flag.name)).size).toBe(flags.length);
  });

  it.each(ROWS)('%s: a renamed flag names a member that exists', (_id, row) => {
    const names = membersOf(row).map((member) => member.replace(/^.*\./, ''));
    for (const member of Object.keys(row.cli.flags ?? {})) expect(names).toContain(member);
  });

  it('a flag takes a bare expression only where the schema has one as its example', () => {
    const taking = memberFlags(OPERATIONS.createToken).filter((flag) => flag.expression);
    expect(taking.map((flag) => flag.name)).toEqual(['mask']);
  });

  it('help mentions null only for flags that accept it', () => {
    for (const { name, kind, help } of memberFlags(OPERATIONS.updateToken)) {
      if (kind === 'json') expect(help, name).toMatch(/null removes|null is removed/);
      else expect(help, name).not.toMatch(/\bnull\b/);
    }
    const expiry = memberFlags(OPERATIONS.updateToken).find(({ name }) => name === 'expires-at');
    expect(expiry?.help).toContain('--clear removes the expiry.');
  });

  it('help lists limits, choices and defaults', () => {
    const help = (schema: Schema) => memberFlags(rowOf({ m: schema }))[0]?.help;
    expect(help({ type: 'integer', minimum: 1, maximum: 100, default: 20, description: 'Items.' })).toBe(
      'Items. (1 to 100; default: 20)',
    );
    expect(help({ type: 'integer', minimum: 1, maximum: MAX_INTEGER, description: 'A page.' })).toBe(
      'A page. (at least 1)',
    );
    expect(help({ type: 'array', items: { enum: ['a', 'b'] }, maxItems: 3, description: 'Which.' })).toBe(
      'Which. Repeatable. (one of a, b; at most 3 values)',
    );
    expect(help({ type: 'array', items: { type: 'string', maxLength: 9 }, minItems: 1, maxItems: 3 })).toBe(
      'Repeatable. (at most 9 characters; 1 to 3 values)',
    );
    expect(help({ type: 'string', minLength: 3, maxLength: 400 })).toBe('(3 to 400 characters)');
    expect(help({ type: 'string', maxLength: 9, description: 'It: 3 characters.' })).toBe('It: 3 characters.');
    expect(help({ type: 'string', minLength: 1, maxLength: 9 })).toBe('(at most 9 characters)');
    expect(help({ type: 'string' })).toBe('');
    expect(help({ type: 'string', description: 'A path.', examples: ['/a/'] })).toBe('A path. (such as /a/)');
    expect(help({ type: 'string', description: 'Such as /a/.', examples: ['/a/'] })).toBe('Such as /a/.');
  });
});
