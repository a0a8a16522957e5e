import { NOT_PLAIN, PLAIN_TEXT, type Schema, UUID } from '../../contract/schema.ts';
import { didYouMean } from '../nearest-name.ts';
import type { MemberErrors } from '../problem.ts';
import type { ValidationError } from '../validators.generated.js';

type Params = Readonly<Record<string, unknown>>;

/** The message for each schema keyword. Messages are fixed texts that never quote input. */
const MESSAGES: Readonly<Record<string, (params: Params) => string>> = {
  required: () => 'is required',
  type: (params) => `must be ${withArticle([params['type']].flat().join(' or '))}`,
  enum: (params) => oneOf(params['allowedValues'] as readonly string[]),
  pattern: () => 'is malformed or contains characters that are not allowed',
  format: (params) => `must be a ${params['format']}`,
  minLength: ({ limit }) => (limit === 1 ? 'must not be empty' : `must have at least ${limit} characters`),
  maxLength: (params) => `must have at most ${params['limit']} characters`,
  minimum: (params) => `must be at least ${params['limit']}`,
  maximum: (params) => `must be at most ${params['limit']}`,
  minItems: ({ limit }) => (limit === 1 ? 'must not be empty' : `must have at least ${limit} items`),
  maxItems: (params) => `must have at most ${params['limit']} items`,
  uniqueItems: () => 'must not repeat an item',
  maxProperties: (params) => `must have at most ${params['limit']} members`,
  propertyNames: ({ propertyName }) => {
    const found = foreignCharacter(propertyName);
    return `has a member whose name ${found === undefined ? 'is empty or is too long' : `contains ${found}`}`;
  },
};

/** The messages for patterns that have a short name. */
const NAMED_PATTERNS: Readonly<Record<string, (value: unknown) => string>> = {
  [UUID]: () => 'must be a UUID',
  [PLAIN_TEXT]: (value) => {
    const found = foreignCharacter(value);
    return `must have no control characters and no lone surrogates${found === undefined ? '' : `; contains ${found}`}`;
  },
};

const FOREIGN_CHARACTER = new RegExp(`[${NOT_PLAIN}]`, 'u');

/** The characters that `PLAIN_TEXT` excludes and that have a name which users know. */
const CHARACTER_NAMES: Readonly<Record<string, string>> = {
  '\t': 'a tab',
  '\n': 'a line break',
  '\r': 'a carriage return',
};

/** Returns the name of the first character of a text that `PLAIN_TEXT` excludes, if there is one. */
function foreignCharacter(text: unknown): string | undefined {
  const [found] = FOREIGN_CHARACTER.exec(String(text)) ?? [];
  if (found === undefined) return undefined;
  const point = `U+${found.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
  const name = CHARACTER_NAMES[found];
  return name === undefined ? point : `${name} (${point})`;
}

/** Returns the errors of a validator on a value, as messages by dotted path (decisions §1). */
export function memberErrors(schema: Schema, found: readonly ValidationError[], value: unknown): MemberErrors {
  const errors: Record<string, string[]> = Object.create(null);
  for (const error of found) {
    // Decode the JSON pointer (RFC 6901 §4).
    const pointer = error.instancePath.split('/').slice(1);
    const path = pointer.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
    const at = schemaAt(schema, path);
    // Report a free-form name once, by `propertyNames`, and a name of a known form under the name itself.
    const isName = error.schemaPath.includes('/propertyNames/');
    const isForm = at?.propertyNames?.examples !== undefined;
    if ((isName || error.keyword === 'propertyNames') && isName !== isForm) continue;
    const message = messageOf(error, isName ? at?.propertyNames : at, () => valueAt(value, path));
    if (message === undefined) continue;
    if (isName) path.push(String(error.propertyName));
    if (error.keyword === 'required') path.push(String(error.params['missingProperty']));
    if (error.keyword === 'additionalProperties') path.push(String(error.params['additionalProperty']));
    const name = path.join('.') || 'body';
    const messages = errors[name] ?? [];
    errors[name] = messages.includes(message) ? messages : [...messages, message];
  }
  return errors;
}

/** Returns the message for an unknown member of an object, with the nearest name of a member that can be set. */
export function unknownMember(name: string, schema: Schema | undefined): string {
  const settable = Object.entries(schema?.properties ?? {}).filter(([, member]) => !member.readOnly);
  return `is not a known member${didYouMean(
    name,
    settable.map(([known]) => known),
  )}`;
}

function messageOf(error: ValidationError, at: Schema | undefined, value: () => unknown): string | undefined {
  if (error.keyword === 'additionalProperties') {
    return unknownMember(String(error.params['additionalProperty']), at);
  }
  const message = MESSAGES[error.keyword]?.(error.params);
  if (error.keyword !== 'pattern') return message;
  const example = at?.examples?.[0];
  const named = NAMED_PATTERNS[String(error.params['pattern'])];
  if (named !== undefined) return named(value());
  return example === undefined ? message : `${message}; an example: ${example}`;
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce((at, name) => (at as Readonly<Record<string, unknown>>)[name], value);
}

function schemaAt(schema: Schema, path: readonly string[]): Schema | undefined {
  let at: Schema | undefined = schema;
  for (const name of path) {
    const properties: Schema['properties'] = at?.properties;
    const others: Schema['additionalProperties'] = at?.additionalProperties;
    const own: Schema | undefined = properties && Object.hasOwn(properties, name) ? properties[name] : undefined;
    // Enter a map of objects. The values of a map of texts have only the general message.
    at = at?.items ?? own ?? (typeof others === 'object' && others.properties ? others : undefined);
  }
  return at;
}

/**
 * Returns the message for allowed values. A boolean in text form needs quotes, or the message would repeat the input.
 */
function oneOf(values: readonly string[]): string {
  if (values.includes('true')) return `must be the string ${values.map((value) => `"${value}"`).join(' or ')}`;
  return `must be one of ${values.join(', ')}`;
}

function withArticle(type: string): string {
  return /^[aeio]/.test(type) ? `an ${type}` : `a ${type}`;
}
