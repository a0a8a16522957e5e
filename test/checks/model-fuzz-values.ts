import { isDeepStrictEqual } from 'node:util';
/** JSON values in the model. The fuzz writes only numbers that fit a double. */
export type Plain = null | boolean | number | string | readonly Plain[] | PlainObject;

export interface PlainObject {
  readonly [name: string]: Plain;
}

/**
 * The rules of this file come from the specification and share no code with the product. The model does not parse
 * expressions: it knows only the ones below.
 */
export const isObject = (value: Plain | undefined): value is PlainObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const text = (value: Plain): string => (typeof value === 'string' ? value : JSON.stringify(value));
const member = (value: Plain, name: string): Plain => (isObject(value) ? (value[name] ?? null) : null);

function revealLast(value: Plain, length: number): Plain {
  const characters = [...text(value)];
  const hidden = characters.length - length;
  return characters.map((each, index) => (index < hidden && each !== '-' ? 'X' : each)).join('');
}

type Scope = { readonly data: Plain; readonly metadata: Readonly<Record<string, string>> };

/** The value that each expression yields, or null when the data lacks it. */
export const EXPRESSIONS: Readonly<Record<string, (scope: Scope) => Plain>> = {
  '{{ data }}': ({ data }) => data,
  '{{ data | stringify }}': ({ data }) => text(data),
  '{{data|stringify}}': ({ data }) => text(data),
  '{{ data | stringify | reveal_last: 4 }}': ({ data }) => revealLast(data, 4),
  '{{ data | stringify | last4 }}': ({ data }) => [...text(data)].slice(-4).join(''),
  'ends in {{ data | stringify | last4 }}.': ({ data }) => `ends in ${[...text(data)].slice(-4).join('')}.`,
  '{{ data | stringify | size }}': ({ data }) => [...text(data)].length,
  '{{ data | stringify | size }}-id': ({ data }) => `${[...text(data)].length}-id`,
  '{{ data.a }}': ({ data }) => member(data, 'a'),
  '{{ data.a | stringify }}': ({ data }) => {
    const found = member(data, 'a');
    return found === null ? null : text(found);
  },
  '{{ data.number }}': ({ data }) => member(data, 'number'),
  '{{ metadata.k }}': ({ metadata }) => metadata['k'] ?? null,
  '{{ data.number | reveal_last: 4 }}': ({ data }) => revealLast(member(data, 'number'), 4),
  '{{ data.expiration_month }}': ({ data }) => member(data, 'expiration_month'),
  '{{ data.expiration_year }}': ({ data }) => member(data, 'expiration_year'),
  '{{ data.routing_number }}': ({ data }) => member(data, 'routing_number'),
  '{{ data.account_number | reveal_last: 4 }}': ({ data }) => revealLast(member(data, 'account_number'), 4),
  '{{ data | reveal_last: 4 }}': ({ data }) => revealLast(data, 4),
  "{{ data | remove: '-' }}": ({ data }) => text(data).replaceAll('-', ''),
  '{{ data | last4 }}': ({ data }) => text(data).slice(-4),
};

/** Returns the value of an expression, or undefined when the expression is broken (decisions §4). */
export function evaluate(expression: string, scope: Scope): Plain | undefined {
  if (Object.hasOwn(EXPRESSIONS, expression)) return EXPRESSIONS[expression]?.(scope);
  return /\{[{%]/.test(expression) ? undefined : expression;
}

/** Returns the masked form. Evaluates strings at every depth and drops members that yield nothing. */
export function maskedForm(mask: Plain, scope: Scope): Plain | 'broken' | undefined {
  if (typeof mask === 'string') {
    const value = evaluate(mask, scope);
    return value === undefined ? 'broken' : (value ?? undefined);
  }
  if (!isObject(mask)) return mask;
  const shown: Record<string, Plain> = {};
  for (const [name, part] of Object.entries(mask)) {
    const value = maskedForm(part, scope);
    if (value === 'broken') return value;
    if (value !== undefined) shown[name] = value;
  }
  return shown;
}

/** Applies a JSON merge patch (RFC 7396 §2). */
export function mergePatch(target: Plain | undefined, patch: Plain): Plain {
  if (!isObject(patch)) return patch;
  const merged: Record<string, Plain> = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else merged[name] = mergePatch(merged[name], value);
  }
  return merged;
}

export function changedPart(patch: Plain, shown: Plain | undefined): Plain | undefined {
  if (isDeepStrictEqual(patch, shown)) return undefined;
  if (!isObject(patch) || !isObject(shown)) return patch;
  const parts = Object.entries(patch).map(([name, value]) => [name, changedPart(value, shown[name])] as const);
  const changed = parts.filter(([, part]) => part !== undefined);
  return changed.length === 0 && parts.length > 0 ? undefined : (Object.fromEntries(changed) as PlainObject);
}

/** Valid values by type. All other values that the fuzz writes into these types are invalid. */
export const GOOD: Readonly<Record<string, readonly Plain[]>> = {
  number: ['4242424242424242', '5555555555554444', '378282246310005'],
  routing_number: ['021000021', '011401533', '091000019'],
  account_number: ['1', '42', '123456789', '12345678901234567'],
  card_number: ['4242424242424242', '5555555555554444'],
  us_bank_account_number: ['123', '12345678901234567'],
  us_bank_routing_number: ['021000021', '011401533'],
  social_security_number: ['123-45-6789', '123456789'],
  employer_id_number: ['12-3456789', '987654321'],
};

type MemberCheck = (value: Plain) => boolean;

const isInteger = (from: number, to: number) => (value: Plain) =>
  typeof value === 'number' && Number.isInteger(value) && value >= from && value <= to;
const isGood = (name: string) => (value: Plain) => GOOD[name]?.includes(value) ?? false;

const MEMBERS: Readonly<Record<string, Readonly<Record<string, MemberCheck>>>> = {
  card: {
    number: isGood('number'),
    expiration_month: isInteger(1, 12),
    expiration_year: isInteger(1000, 9999),
    cvc: (value) => typeof value === 'string' && /^\d{3,4}$/.test(value),
  },
  bank: { routing_number: isGood('routing_number'), account_number: isGood('account_number') },
};
const REQUIRED: readonly string[] = ['number', 'routing_number', 'account_number'];

/** Returns the paths at which `data` violates its type (§2.3, decisions §3). */
export function dataFlaws(type: string, data: Plain): readonly string[] {
  const members = MEMBERS[type];
  if (type === 'token') return data === null ? ['data'] : [];
  if (!members) return isGood(type)(data) ? [] : ['data'];
  if (!isObject(data)) return ['data'];
  const missing = Object.keys(members).filter((name) => REQUIRED.includes(name) && !Object.hasOwn(data, name));
  const wrong = Object.entries(data).filter(([name, value]) => value !== undefined && !members[name]?.(value));
  return [...missing, ...wrong.map(([name]) => name)].map((name) => `data.${name}`);
}

/** The default container of each type (decisions §3). */
export const DEFAULT_CONTAINER: Readonly<Record<string, string>> = {
  token: '/general/high/',
  card: '/pci/high/',
  bank: '/bank/high/',
  card_number: '/pci/high/',
  us_bank_account_number: '/bank/high/',
  us_bank_routing_number: '/bank/low/',
  social_security_number: '/pii/high/',
  employer_id_number: '/pii/high/',
};

const LAST_FOUR = '{{ data | reveal_last: 4 }}';
const THREE_INDEXES = ['{{ data }}', "{{ data | remove: '-' }}", '{{ data | last4 }}'];

/** The default mask of each type (decisions §3). */
export const DEFAULT_MASK: Readonly<Record<string, Plain>> = {
  card: {
    number: '{{ data.number | reveal_last: 4 }}',
    expiration_month: '{{ data.expiration_month }}',
    expiration_year: '{{ data.expiration_year }}',
  },
  bank: { routing_number: '{{ data.routing_number }}', account_number: '{{ data.account_number | reveal_last: 4 }}' },
  card_number: LAST_FOUR,
  us_bank_account_number: LAST_FOUR,
  us_bank_routing_number: LAST_FOUR,
  social_security_number: LAST_FOUR,
  employer_id_number: LAST_FOUR,
};

export const DEFAULT_INDEXES: Readonly<Record<string, readonly string[]>> = {
  social_security_number: THREE_INDEXES,
  employer_id_number: THREE_INDEXES,
};
