import type { Json } from './json.ts';

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
