import type { Draw } from './model-fuzz-bodies.ts';
import type { Plain, PlainObject } from './model-fuzz-values.ts';

/** Two versions of a token, one for each vault. They differ in their data alone. */
export interface Pair {
  readonly type: string;
  readonly made: readonly [PlainObject, PlainObject];
}

const CARD = { number: '4242424242424242', expiration_month: 12, expiration_year: 2030, cvc: '123' };
const EXPRESSIONS = { mask: '{{ data | stringify | last4 }}', search_indexes: ['{{ data | stringify }}'] };
const MANY = Object.fromEntries(Array.from({ length: 49 }, (_, index) => [`k${index}`, 'v']));

const pair = (type: string, ...made: Pair['made']): Pair => ({ type, made });

/** Pairs of similar size, so that their times are comparable. Larger data and more metadata take longer to seal. */
export const ALIKE: readonly Pair[] = [
  pair('card', { data: CARD }, { data: { ...CARD, number: '5555555555554444', cvc: '124' } }),
  pair(
    'bank',
    { data: { routing_number: '021000021', account_number: '123456780' } },
    { data: { routing_number: '011401533', account_number: '123456789' } },
  ),
  pair('card_number', { data: '4242424242424242' }, { data: '5555555555554444' }),
  pair('social_security_number', { data: '123-45-6789' }, { data: '987-65-4321' }),
  pair('token', { data: { a: 1, number: '123' } }, { data: { a: 'x', cvc: '123' } }),
  pair('token', { data: 'secret' }, { data: { a: { deep: [null] } } }),
];

export const UNLIKE: readonly Pair[] = [
  pair('card', { data: CARD }, { data: { number: '378282246310005' } }),
  pair('token', { data: { a: 1 }, ...EXPRESSIONS }, { data: [1, 2, 3], ...EXPRESSIONS }),
  pair('token', { data: { a: true }, metadata: MANY }, { data: { a: 'x'.repeat(20_000) }, metadata: MANY }),
  pair(
    'token',
    { data: { a: 'large'.repeat(3_000), b: '123' }, mask: { n: 'hidden' } },
    { data: { a: 'small', b: '124' }, mask: { n: 'hidden' } },
  ),
];

/** Expressions that fail on some of the data above and mostly yield a value for the rest. */
const DATA_DEPENDENT = [
  '{{ data.cvc }}',
  '{{ data.a }}',
  '{{ data.a | plus: 1 }}',
  '{{ data.b | plus: 1 }}',
  '{{ data | split: "-" | first }}',
  '{{ data | size }}',
  '{{ data.number | reveal_last: 4 }}',
  '{{ data | reveal_last: 4 }}',
  '{{ data | stringify | slice: 0, 3 }}',
  '{{ data.expiration_year | minus: 2029 }}',
  `{{ data | json: "$[?@ == '123']" }}`,
  `{{ data | json: "$[?@ == '4242424242424242']" }}`,
  `{{ data | json: "$[?@ < 'b']" | append: data.number }}`,
  '{{ data.a | to_boolean }}',
  '{{ data | stringify | to_number }}',
];
const ANY = ['{{ data }}', '{{ data | stringify }}', 'constant', ...DATA_DEPENDENT, ...DATA_DEPENDENT];
/** Expressions that fail with 400 for any data. */
const BROKEN = ['{{ data | nope }}', '{% if data %}', '{{ data | reveal_last }}', '{{ data | alias_card }}', ''];
const OF_METADATA = ['{{ metadata.k0 }}', '{{ metadata.g }}{{ data.cvc }}'];

const DATA: readonly Plain[] = [
  { a: null },
  { a: 2, b: { c: null } },
  { b: 'y'.repeat(1_600) },
  { cvc: '12' },
  { cvc: '124' },
  { cvc: null },
  { number: null },
  { number: '4242424242424242' },
  { number: '4242424242424241' },
  { expiration_month: 13 },
  { expiration_year: 2031, pin: null },
  { pin: '1' },
  { account_number: '7', number: { a: null } },
  { routing_number: '021000021' },
  {},
  '5555555555554444',
  '123-45-6789',
  'text',
  [],
  7,
  null,
];

const CONTAINERS = ['/own/', '/own/', '/own/x/', '/pci/high/', '/read/', '/elsewhere/'];

/** Returns a random patch. Its result mostly depends on data that the caller cannot see. */
export function randomPatch(draw: Draw, now: number): PlainObject {
  const expression = () => draw.one(draw.chance(0.02) ? BROKEN : ANY);
  const fingerprint = () => (draw.chance(0.2) ? draw.one(OF_METADATA) : expression());
  const members: Readonly<Record<string, () => Plain>> = {
    data: () => draw.one(DATA),
    mask: () => draw.one([expression(), { n: expression(), c: expression() }, { number: null }, null]),
    search_indexes: () => (draw.chance(0.1) ? null : [expression(), ...(draw.chance(0.5) ? [expression()] : [])]),
    fingerprint_expression: () => (draw.chance(0.1) ? null : fingerprint()),
    metadata: () => draw.one([{ g: '4' }, { k0: null }, { g: '123', h: '1', i: '2' }, null, {}]),
    containers: () => (draw.chance(0.1) ? null : [draw.one(CONTAINERS), ...(draw.chance(0.2) ? ['/own/'] : [])]),
    expires_at: () => draw.one([new Date(now + 86_400_000).toISOString(), null, '1/1/2001']),
    deduplicate_token: () => draw.one([true, true, false, null]),
  };
  const chosen = Object.entries(members).filter(([name]) => draw.chance(name === 'containers' ? 0.15 : 0.35));
  return Object.fromEntries(chosen.map(([name, make]) => [name, make()]));
}
