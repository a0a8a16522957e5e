import type { Json } from './json.ts';

/** The patterns that the schemas share. Each is anchored and has no nested quantifier. */
export const UUID = '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$';

/** The characters that plain texts exclude, for a class of a pattern. */
export const NOT_PLAIN = '\\u0000-\\u001f\\u007f\\ud800-\\udfff';

/**
 * The pattern of every id, name, container and metadata text: no C0 control characters, no DEL and no lone surrogates.
 */
export const PLAIN_TEXT = `^[^${NOT_PLAIN}]*$` as const;

/**
 * An API key: `key_` and 32 characters of base 58, of which 26 are random (152 bits) and 6 are a 32-bit checksum.
 * Secret scanners may use this pattern.
 */
export const API_KEY = '^key_[1-9A-HJ-NP-Za-km-z]{32}$';

/**
 * The characters of an API key that a client sends in a header. Clients omit any other key; an invalid and a missing
 * key get the same 401.
 */
export const SENDABLE = '^[\\x21-\\x7e]+$';

/** The prefix of the header names, case-insensitive. Default: `SVC` (`SVC-API-KEY`, `SVC-TRACE-ID`). */
export const HEADER_PREFIX = '^[A-Za-z][A-Za-z0-9-]{0,63}$';

/** An idempotency key: printable ASCII without blanks at the ends, which HTTP removes from the value of a header. */
export const IDEMPOTENCY_KEY = '^(?! )[ -~]{1,200}(?<! )$';

/** The message for an invalid idempotency key. */
export const IDEMPOTENCY_KEY_RULE = 'must be 1 to 200 printable ASCII characters, with no blank at either end';

/**
 * A container: `/`, or segments of letters, digits, `-` and `_` between slashes (decisions §5). The vault converts it
 * to lower case.
 */
export const CONTAINER = {
  type: 'string',
  maxLength: 255,
  pattern: '^(?!.*//)/([A-Za-z0-9_/-]*/)?$',
  examples: ['/pci/high/'],
} as const;

/** The `name` of an application or a tenant (§8). */
export const NAME = { type: 'string', minLength: 1, maxLength: 200, pattern: PLAIN_TEXT } as const;

/** An id that the vault assigns. */
export const ENTITY_ID = { type: 'string', pattern: UUID } as const;

/** The tenant id of a record. */
export const OWN_TENANT_ID = { ...ENTITY_ID, description: 'The id of the tenant.' } as const;

/** A time in a response: ISO 8601 with milliseconds, and UTC written as `+00:00` (decisions §1). */
export const TIME = { type: 'string', format: 'date-time', examples: ['2026-03-01T09:30:00.000+00:00'] } as const;

/** The members that name the first and the last writer of a record, and the times of their changes. */
export const CHANGES = {
  created_by: { ...ENTITY_ID, description: 'The id of the application that created the record.' },
  created_at: { ...TIME, description: 'The time of the creation.' },
  modified_by: { ...ENTITY_ID, description: 'The id of the application that last changed the record.' },
  modified_at: { ...TIME, description: 'The time of the last change.' },
} as const;

/** The names of these members, in order. */
export const CHANGE_NAMES = ['created_by', 'created_at', 'modified_by', 'modified_at'] as const;

export type TypeName = 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object';

/**
 * The part of JSON Schema 2020-12 that the contract uses. A schema is data: `Infer` derives its TypeScript type, the
 * build compiles its validator, OpenAPI prints the schema, and the CLI derives a flag from each property.
 */
export interface Schema {
  readonly type?: TypeName | readonly [TypeName, 'null'];
  readonly description?: string;
  readonly const?: string | number | boolean;
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly format?: 'uuid' | 'date-time';
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: string | number | boolean | readonly string[];
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly propertyNames?: Schema;
  readonly additionalProperties?: boolean | Schema;
  readonly maxProperties?: number;
  readonly examples?: readonly unknown[];
  /**
   * Marks a member of an update's body that cannot be changed. The body may contain it only with its stored value, so
   * that a resource can be sent back as read. Validators accept any value; `checkReadOnly` compares it.
   */
  readonly readOnly?: true;
}

/** Returns the schema of an object with no other members than these. */
export function object<
  const Properties extends Readonly<Record<string, Schema>>,
  const Required extends readonly (keyof Properties)[],
>(required: Required, properties: Properties) {
  const schema = { type: 'object', ...(required.length > 0 && { required }), additionalProperties: false, properties };
  return schema as {
    readonly type: 'object';
    readonly required: Required;
    readonly additionalProperties: false;
    readonly properties: Properties;
  };
}

/**
 * Returns these members of a resource for the body of its update, where they are read-only: a resource can be sent back
 * as it was read.
 */
export function readOnly<
  Properties extends Readonly<Record<string, Schema>>,
  const Names extends readonly (keyof Properties)[],
>(properties: Properties, names: Names) {
  const members = names.map((name) => {
    const { description = '' } = properties[name] as Schema;
    return [
      name,
      { ...properties[name], description: `${description} Read-only: only its stored value.`, readOnly: true },
    ];
  });
  // The cast is safe: each of the names is a member, and each member gets the mark.
  return Object.fromEntries(members) as { readonly [N in Names[number]]: Properties[N] & { readonly readOnly: true } };
}

type RequiredKeys<S> = S extends { readonly required: readonly (infer K)[] } ? K : never;

type InferProperties<P, Required> = {
  readonly [K in keyof P as K extends Required ? K : never]: Infer<P[K]>;
} & {
  readonly [K in keyof P as K extends Required ? never : K]?: Infer<P[K]>;
};

type Flatten<T> = { [K in keyof T]: T[K] };

/** The TypeScript type of the values that a schema accepts. An empty schema accepts any JSON. */
export type Infer<S> = S extends { readonly readOnly: true }
  ? Json
  : S extends { readonly const: infer C }
    ? C
    : S extends { readonly type: readonly [infer T, 'null'] }
      ? null | Infer<Omit<S, 'type'> & { readonly type: T }>
      : S extends { readonly enum: readonly (infer E)[] }
        ? E
        : S extends { readonly type: 'string' }
          ? string
          : S extends { readonly type: 'integer' | 'number' }
            ? number
            : S extends { readonly type: 'boolean' }
              ? boolean
              : S extends { readonly type: 'array'; readonly items: infer I }
                ? readonly Infer<I>[]
                : S extends { readonly type: 'object'; readonly properties: infer P }
                  ? Flatten<InferProperties<P, RequiredKeys<S>>>
                  : S extends { readonly type: 'object'; readonly additionalProperties: infer V }
                    ? Readonly<Record<string, Infer<V>>>
                    : Json;
