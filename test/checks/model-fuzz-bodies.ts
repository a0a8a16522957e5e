import { ALLOWED } from './model-fuzz-access.ts';
import type { Command, Flaw } from './model-fuzz-state.ts';
import { DEFAULT_MASK, EXPRESSIONS, GOOD, type Plain, type PlainObject } from './model-fuzz-values.ts';
import { seededNumbers } from './perform.ts';
import { METADATA_KEYS, TEXTS } from './random-query.ts';

export interface Draw {
  below(limit: number): number;
  chance(probability: number): boolean;
  one<T>(of: readonly T[]): T;
  some<T>(of: readonly T[]): readonly T[];
  weighted<T>(of: readonly (readonly [T, number])[]): T;
}

export function createDraw(seed: number): Draw {
  const next = seededNumbers(seed);
  const one = <T>(of: readonly T[]): T => {
    const index = Math.floor(next() * of.length);
    if (index >= of.length) throw new Error('nothing to choose from');
    return of[index] as T;
  };
  return {
    one,
    below: (limit) => Math.floor(next() * limit),
    chance: (probability) => next() < probability,
    some: (of) => of.filter(() => next() < 0.5),
    weighted: (of) => {
      let left = next() * of.reduce((sum, [, weight]) => sum + weight, 0);
      for (const [each, weight] of of) {
        left -= weight;
        if (left < 0) return each;
      }
      return one(of)[0];
    },
  };
}

const CONTAINERS = '/ /pci/ /pci/high/ /pci-dev/ /general/high/ /general/ /a/ /a/b/ /A/B/C/'.split(' ');
/** The ids of tokens. The list is short, so that ids often conflict. */
export const IDS = ['abc', 'my token@home', 'x'.repeat(400), 'ünï-id', 'id-1', 'id-2', 'id-3'];

const DATA: readonly Plain[] = [
  'secret',
  'with-dash and space',
  '',
  'abc',
  0,
  -7,
  12345678,
  '12345678',
  '{"a":1}',
  true,
  false,
  [],
  [1, null, 'x'],
  {},
  { a: 1 },
  { b: 'x', a: 'y' },
  { a: 'y', b: 'x' },
  { a: null, nested: { deep: ['🃏', 1.5] } },
];

function goodData(draw: Draw, type: string): Plain {
  const of = (name: string) => draw.one(GOOD[name] ?? []);
  if (type === 'card') {
    return {
      number: of('number'),
      ...(draw.chance(0.6) && { expiration_month: 1 + draw.below(12) }),
      ...(draw.chance(0.6) && { expiration_year: 2030 + draw.below(3) }),
      ...(draw.chance(0.4) && { cvc: draw.one(['123', '0000']) }),
    };
  }
  if (type === 'bank') return { routing_number: of('routing_number'), account_number: of('account_number') };
  return type === 'token' ? draw.one(DATA) : of(type);
}

/** Expressions that yield a value for any data. Those in `SOMETIMES` depend on the data and are drawn less often. */
const ALWAYS = Object.keys(EXPRESSIONS).filter((text) => text.includes('| stringify') && !text.includes('data.a'));
const SOMETIMES = ['{{ data }}', '{{ data.a }}', '{{ data.a | stringify }}'];

function newIndexes(draw: Draw): readonly string[] {
  if (draw.chance(0.4)) return [draw.one(TEXTS), draw.one(TEXTS)];
  return draw.chance(0.9) ? draw.some(ALWAYS) : [draw.one(SOMETIMES)];
}

function newMetadata(draw: Draw): PlainObject {
  if (draw.chance(0.5)) return draw.one([{ k: 'x' }, { k: 'X', 'a.b': 'ÄÖ' }, { k: '' }, {}]);
  return Object.fromEntries(draw.some(METADATA_KEYS).map((key) => [key, draw.one(['', ...TEXTS])]));
}

function newMask(draw: Draw): Plain {
  if (draw.chance(0.5)) return draw.one([...ALWAYS, ...ALWAYS, '{{ data.a }}', 'hidden', 0, true]);
  return { end: draw.one(ALWAYS), a: '{{ data.a | stringify }}', fixed: { k: 'x', n: 1 } };
}

/** Returns an expiry within seconds, hours or days, in a format of §2.6. */
function futureTime(draw: Draw, now: number): string {
  if (draw.chance(0.15)) {
    const day = new Date(now + 2 * 86_400_000);
    return `${day.getUTCMonth() + 1}/${day.getUTCDate()}/${day.getUTCFullYear()}`;
  }
  const at = new Date(now + draw.one([1, 2_000, 60_000, 7_200_000, 86_400_000 * 20]));
  if (draw.chance(0.5)) return at.toISOString();
  return `${new Date(at.getTime() + 2 * 3_600_000).toISOString().slice(0, -1)}+02:00`;
}

const TYPES = Object.keys(GOOD).filter((name) => name in DEFAULT_MASK);

/** Returns a valid body of Create Token. An expression may still yield nothing for its data. */
export function newTokenBody(draw: Draw, now: number, wanted?: string): PlainObject {
  const type = wanted ?? draw.one(['token', 'token', 'token', 'card', 'card', 'bank', ...TYPES]);
  return {
    type,
    data: goodData(draw, type),
    ...(draw.chance(0.25) && { id: draw.one([...IDS, `id-${draw.below(500)}`, '{{ data | stringify | size }}-id']) }),
    ...(draw.chance(0.35) && { mask: newMask(draw) }),
    ...(draw.chance(0.5) && { containers: [draw.one(CONTAINERS), ...draw.some(CONTAINERS.slice(4))] }),
    ...(draw.chance(0.4) && { metadata: newMetadata(draw) }),
    ...(draw.chance(0.3) && { search_indexes: newIndexes(draw) }),
    ...(draw.chance(0.2) && {
      fingerprint_expression: draw.one([
        ...ALWAYS,
        ...SOMETIMES,
        ...['{{data|stringify}}', '{{ metadata.k }}', '{{ data.number }}'],
      ]),
    }),
    ...(draw.chance(0.25) && { deduplicate_token: draw.chance(0.8) }),
    ...(draw.chance(0.2) && { expires_at: futureTime(draw, now) }),
    ...(draw.chance(0.05) && { [draw.one(['id', 'mask', 'metadata', 'expires_at', 'containers'])]: null }),
  };
}

const TRANSFORMS = ['redact', 'mask', 'reveal', 'reveal'];

export function rulesFor(draw: Draw, type: string): readonly PlainObject[] {
  const permissions = ALLOWED[type] ?? [];
  return Array.from({ length: draw.below(4) }, (_, index): PlainObject => {
    const granted = draw.some(permissions);
    return {
      description: `rule ${index}`,
      priority: draw.one([index + 1, 10 - index]),
      ...(type === 'expiring'
        ? { conditions: Array.from({ length: 1 + draw.below(2) }, () => newCondition(draw)) }
        : { container: draw.one(CONTAINERS) }),
      transform: draw.one(TRANSFORMS),
      permissions: granted.length > 0 ? granted : permissions,
    };
  });
}

function newCondition(draw: Draw): PlainObject {
  const byId = draw.chance(0.4);
  return {
    attribute: byId ? 'id' : 'container',
    operator: draw.one(['equals', 'starts_with']),
    value: draw.one(byId ? ['abc', 'id-', 'id-1', '0'] : [...CONTAINERS, '/gen', '/PCI', 'x']),
  };
}

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

export function transportFlaws(
  patch: boolean,
  text: string,
): readonly Pick<Command, 'mediaType' | 'bodyText' | 'flaw'>[] {
  const mediaType = patch ? 'application/merge-patch+json' : 'application/json';
  const unsupported: Flaw = { status: 415, code: 'unsupported_media_type' };
  const malformed: Flaw = { status: 400, code: 'malformed_json' };
  return [
    { mediaType: patch ? 'application/json' : 'text/plain', bodyText: text, flaw: unsupported },
    { mediaType: undefined, bodyText: text, flaw: unsupported },
    { mediaType, bodyText: text.slice(0, -1), flaw: malformed },
    { mediaType, bodyText: '', flaw: malformed },
    { mediaType, bodyText: `${text} x`, flaw: malformed },
    { mediaType, bodyText: `"${'x'.repeat(2 ** 20)}"`, flaw: { status: 413, code: 'body_too_large' } },
  ];
}
