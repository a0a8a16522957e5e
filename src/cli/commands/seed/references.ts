import type { Json } from '../../../contract/json.ts';
import { memberNames, objectOfMembers } from '../../../core/json/member-names.ts';
import type { Environment } from '../../global-flags.ts';
import { asObject } from '../../output/result-view.ts';
import { type ItemNames, memberPath, type SeedText } from './read-seed-file.ts';
import type { SeedFlaws } from './seed-flaws.ts';

/** Matches a reference `${…}`, or `$${`, which stands for a plain `${`. */
const REFERENCE = /\$\$\{|\$\{([^}]*)\}/g;

/** Returns the value of a reference in the member at a dotted path. */
export type Resolve = (reference: string, path: string) => string;

/** Returns a function that resolves references, given the ids of applications by item. */
export type ResolveWith = (idOfApp: (item: string) => string) => Resolve;

/** The placeholder for the id of an application that does not exist yet, and for the value of a wrong reference. */
export const PLAIN_ID = '00000000-0000-4000-8000-000000000000';

/** Returns the value with every reference in its texts resolved. Keeps the names of members. */
export function resolveReferences(value: Json, resolve: Resolve, path = ''): Json {
  if (typeof value === 'string') {
    return value.replace(REFERENCE, (whole, name: string | undefined) =>
      name === undefined ? whole.slice(1) : resolve(name.trim(), path),
    );
  }
  if (Array.isArray(value)) return value.map((item, at) => resolveReferences(item, resolve, memberPath(path, at)));
  const object = asObject(value);
  if (object === undefined) return value;
  const members = memberNames(object).map(
    (name) => [name, resolveReferences(object[name] ?? null, resolve, memberPath(path, name))] as const,
  );
  return objectOfMembers(new Map(members));
}

/** Returns the resolver for the references in one file. The resolver adds a flaw for a wrong reference. */
export function resolverOf(
  text: SeedText,
  known: ItemNames & { readonly env: Environment },
  flaws: Pick<SeedFlaws, 'add'>,
): ResolveWith {
  const fail = (path: string, message: string): string => {
    flaws.add(text, path, message);
    return PLAIN_ID;
  };
  const ofEnvironment: Resolve = (reference, path) => {
    const [kind, name = '', ...rest] = reference.split('.');
    if (kind !== 'env' || rest.length > 0)
      return fail(path, `\${${reference}} cannot be part of an id that others refer to`);
    const value = Object.hasOwn(known.env, name) ? known.env[name] : undefined;
    return value ?? fail(path, `the environment variable ${name} is not set`);
  };
  return (idOfApp) => (reference, path) => {
    const [kind = '', item = '', member = ''] = reference.split('.');
    if (kind === 'env') return ofEnvironment(reference, path);
    if (kind === 'apps' && member === 'id' && known.apps.has(item)) {
      if (!path.startsWith('tokens.'))
        return fail(path, `only tokens may use \${${reference}}: applications are created first`);
      if (/^tokens\.[^.]*\.id$/.test(path))
        return fail(path, `\${${reference}} cannot be part of an id, because it differs between vaults`);
      return idOfApp(item);
    }
    if (kind === 'tokens' && member === 'id' && known.tokenIds.has(item)) {
      return String(resolveReferences(known.tokenIds.get(item) ?? '', ofEnvironment, path));
    }
    return fail(
      path,
      `\${${reference}} is unknown; use \${env.NAME}, or \${apps.NAME.id} or \${tokens.NAME.id} of an item in the seed`,
    );
  };
}
