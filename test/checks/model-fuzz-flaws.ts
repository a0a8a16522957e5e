import type { Draw } from './model-fuzz-bodies.ts';
import type { Command, Flaw } from './model-fuzz-state.ts';
import type { Plain, PlainObject } from './model-fuzz-values.ts';

type Flawed = Pick<Command, 'body' | 'flaw'>;

/** The path that `errors` must name, and the member to overwrite. An undefined value removes the member. */
type Wrong = readonly [path: string, member: string, value: Plain | undefined];

const invalid = (path: string): Flaw => ({ status: 400, code: 'invalid_request', path });

function spoil(draw: Draw, body: PlainObject, wrongs: readonly Wrong[]): Flawed {
  const [path, member, value] = draw.one(wrongs);
  const { [member]: _replaced, ...rest } = body;
  return { body: value === undefined ? rest : { ...rest, [member]: value }, flaw: invalid(path) };
}

const anyToken = (now: number): readonly Wrong[] => [
  ['containers.0', 'containers', ['no-slash']],
  ['containers.1', 'containers', ['/a/', '/a//b/']],
  ['containers', 'containers', []],
  ['containers', 'containers', '/a/'],
  ['metadata.k', 'metadata', { k: 1 }],
  ['metadata.k', 'metadata', { k: 'x'.repeat(1025) }],
  ['metadata.k', 'metadata', { k: 'a\u0000' }],
  ['metadata', 'metadata', { ['x'.repeat(129)]: '' }],
  ['search_indexes', 'search_indexes', Array.from({ length: 11 }, () => '{{ data }}')],
  ['search_indexes.0', 'search_indexes', [1]],
  ['fingerprint_expression', 'fingerprint_expression', 'x'.repeat(1025)],
  ['deduplicate_token', 'deduplicate_token', 'true'],
  ['expires_at', 'expires_at', '2/30/2040'],
  ['expires_at', 'expires_at', 'tomorrow'],
  ['expires_at', 'expires_at', new Date(now).toISOString()],
  ['metdata', 'metdata', {}],
  ['tenant_id', 'tenant_id', '00000000-0000-4000-8000-000000000000'],
  ['fingerprints', 'fingerprints', 'x'],
];

export function tokenFlaw(
  draw: Draw,
  { search_indexes: _one, fingerprint_expression: _two, ...body }: PlainObject,
  now: number,
): Flawed {
  return spoil(draw, body, [
    ...anyToken(now),
    ['type', 'type', undefined],
    ['type', 'type', 'credit_card'],
    ['data', 'data', undefined],
    ['data', 'data', null],
    ['id', 'id', 'ab'],
    ['id', 'id', 'a/bc'],
    ['id', 'id', 'x'.repeat(401)],
    ['id', 'id', '{{ data | nope }}'],
    ['mask', 'mask', '{{ data | reveal_last }}'],
    ['mask.number', 'mask', { number: '{{ data' }],
    ['mask', 'mask', '{% if data %}x{% endif %}'],
    ['fingerprint_expression', 'fingerprint_expression', '{{ data | nope }}'],
    ['search_indexes.0', 'search_indexes', ['{{ data.missing }}']],
  ]);
}

export function patchFlaw(draw: Draw, body: PlainObject, now: number): Flawed {
  // A read-only member is compared with the token, which may be missing.
  const settable = anyToken(now).filter(([, member]) => member !== 'tenant_id');
  return spoil(draw, body, [...settable, ['masked', 'masked', 'card'], ['ids', 'ids', 'other']]);
}

export function applicationFlaw(draw: Draw, body: PlainObject, creating: boolean): Flawed {
  const rule = { description: '', priority: 1, container: '/', transform: 'mask', permissions: ['token:read'] };
  return spoil(draw, body, [
    ['name', 'name', undefined],
    ['name', 'name', ''],
    ['name', 'name', 'x'.repeat(201)],
    ['permissions.0', 'permissions', ['token:reed']],
    ['permissions', 'permissions', ['token:read', 'token:read']],
    ['rules.0.priority', 'rules', [{ ...rule, priority: 0 }]],
    ['rules.0.transform', 'rules', [{ ...rule, transform: 'show' }]],
    ['rules.0.permissions', 'rules', [{ ...rule, permissions: [] }]],
    ['rules.0.contaner', 'rules', [{ ...rule, contaner: '/' }]],
    ['rules.0.container', 'rules', [{ ...rule, container: 'pci' }]],
    ['key', 'key', 'key_x'],
    ...(creating ? CREATING : UPDATING),
  ]);
}

const CREATING: readonly Wrong[] = [
  ['type', 'type', undefined],
  ['type', 'type', 'admin'],
  ['created_by', 'created_by', 'me'],
  ['can_create_expiring_applications', 'can_create_expiring_applications', 'yes'],
];

const UPDATING: readonly Wrong[] = [
  ['permissions', 'permissions', []],
  ['created', 'created', 'me'],
];

export function tenantFlaw(draw: Draw, body: PlainObject): Flawed {
  return spoil(draw, body, [
    ['name', 'name', undefined],
    ['name', 'name', 'x'.repeat(201)],
    ['settings.deduplicate_tokens', 'settings', { deduplicate_tokens: true }],
    ['settings.dedupe', 'settings', { dedupe: 'true' }],
    ['owner_id', 'owner_id', 'me'],
  ]);
}

type Query = Command['query'];

export function listFlaw(draw: Draw, query: Query, ofTokens: boolean): Pick<Command, 'query' | 'flaw'> {
  const wrongs: readonly (readonly [path: string, name: string, value: string])[] = [
    ['size', 'size', '0'],
    ['size', 'size', '101'],
    ['page', 'page', '0'],
    ['page', 'page', 'x'],
    ['sise', 'sise', '1'],
    ['type.0', 'type', 'nope'],
    ...(ofTokens ? [] : ([['id.0', 'id', 'x']] as const)),
    ...(ofTokens ? ([['metadata.', 'metadata.', 'x']] as const) : []),
  ];
  const [path, name, value] = draw.one(wrongs);
  return { query: [...query.filter(([each]) => each !== name), [name, value]], flaw: invalid(path) };
}
