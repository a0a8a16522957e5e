import { describe, expect, it } from 'vitest';
import type { AccessRule, Transform } from '../../src/contract/permissions.ts';
import { createGrants, type Grants, governingTransform, transformOfEveryToken } from '../../src/core/access/grants.ts';

type Rule = readonly [container: string | undefined, transform: Transform, permission?: 'token:read' | 'token:update'];

function grantsOf(rules: readonly Rule[], within?: Grants): Grants {
  return createGrants(
    {
      permissions: ['token:read'],
      rules: rules.map(
        ([container, transform, permission = 'token:read'], index): AccessRule => ({
          description: '',
          priority: index + 1,
          transform,
          permissions: [permission],
          ...(container === undefined
            ? { conditions: [{ attribute: 'id', operator: 'starts_with', value: '' }] }
            : { container }),
        }),
      ),
    },
    within,
  );
}

const CASES: readonly (readonly [own: readonly Rule[], within: readonly Rule[] | undefined, Transform | undefined])[] =
  [
    [[], undefined, 'mask'],
    [[['/', 'reveal']], undefined, 'reveal'],
    [[['/', 'redact']], undefined, 'redact'],
    [[['/pci/', 'reveal']], undefined, undefined],
    [[[undefined, 'reveal']], undefined, undefined],
    [[['/', 'reveal', 'token:update']], undefined, 'mask'],
    [
      [
        ['/', 'redact'],
        ['/', 'reveal'],
      ],
      undefined,
      'redact',
    ],
    [
      [
        ['/pci/', 'mask'],
        ['/', 'reveal'],
      ],
      undefined,
      undefined,
    ],
    [[['/', 'reveal']], [['/', 'reveal']], 'reveal'],
    [[['/', 'reveal']], [['/', 'mask']], 'mask'],
    [[['/', 'redact']], [['/', 'reveal']], 'redact'],
    [[['/', 'reveal']], [['/pci/', 'reveal']], undefined],
    [[['/', 'reveal']], [], 'mask'],
  ];

describe('the transform of every token', () => {
  it.each(CASES)('of %j within %j is %j', (own, within, expected) => {
    const grants = grantsOf(own, within && grantsOf(within));
    expect(transformOfEveryToken(grants, 'token:read')).toBe(expected);
    if (expected === undefined) return;
    for (const containers of [['/'], ['/pci/high/'], ['/a/', '/b/']]) {
      expect(governingTransform(grants, 'token:read', { id: 'x', containers })).toBe(expected);
    }
  });
});
