import type { Json } from '../../contract/json.ts';
import { memberNames, objectOfMembers } from '../../core/json/member-names.ts';
import { asObject } from '../output/result-view.ts';
import type { MemberPath } from './check-schema.ts';

/** `${…}`, or `$${`, which is a `${` that is meant as it stands. */
const REFERENCE = /\$\$\{|\$\{([^}]*)\}/g;

/** What a reference stands for. Throws the fault `usage` when there is no such thing. */
export type Resolve = (reference: string, path: MemberPath) => string;

/** The value with every reference in its texts resolved. Names of members are left as they are. */
export function resolveReferences(value: Json, resolve: Resolve, path: MemberPath = []): Json {
  if (typeof value === 'string') {
    return value.replace(REFERENCE, (whole, name: string | undefined) =>
      name === undefined ? whole.slice(1) : resolve(name.trim(), path),
    );
  }
  if (Array.isArray(value)) return value.map((item, at) => resolveReferences(item, resolve, [...path, at]));
  const object = asObject(value);
  if (object === undefined) return value;
  return objectOfMembers(
    new Map(
      memberNames(object).map((name) => [name, resolveReferences(object[name] ?? null, resolve, [...path, name])]),
    ),
  );
}
