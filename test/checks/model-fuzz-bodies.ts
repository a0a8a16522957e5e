import { ALLOWED } from './model-fuzz-access.ts';
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

export const CONTAINERS = '/ /pci/ /pci/high/ /pci-dev/ /general/high/ /general/ /a/ /a/b/ /A/B/C/'.split(' ');
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
export function futureTime(draw: Draw, now: number): string {
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

/** Returns up to three valid rules for the type. */
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
