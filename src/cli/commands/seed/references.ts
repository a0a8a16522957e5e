import type { Json } from '../../../contract/json.ts';
import { memberNames, objectOfMembers } from '../../../core/json/kind.ts';
import type { Environment } from '../../flags/global-flags.ts';
import { asObject } from '../../output/result-view.ts';
import { idOf, memberPath, type SeedItem, type SeedText } from './read-seed-file.ts';
import type { SeedFlaws } from './seed-flaws.ts';

/** Matches a reference `${…}`, or `$${`, which stands for a plain `${`. */
const REFERENCE = /\$\$\{|\$\{([^}]*)\}/g;
const TOKEN_ID = /^tokens\.[^.]*\.id$/;

/** Returns the value of a reference in the member at a dotted path. */
type Resolve = (reference: string, path: string) => string;

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

/**
 * Returns a function that creates the resolver for a file, given the ids of applications by item. Without the id of an
 * application, and for a wrong reference, which it adds to the flaws, a resolver returns a placeholder.
 */
export function resolversFor(items: readonly SeedItem[], env: Environment, flaws: Pick<SeedFlaws, 'add'>) {
  const tokens = new Map(items.flatMap((item) => (item.kind === 'tokens' ? [[item.item, idOf(item)]] : [])));
  const apps = new Set(items.flatMap(({ kind, item }) => (kind === 'apps' ? [item] : [])));
  return (text: SeedText, appIds: ReadonlyMap<string, string>): Resolve => {
    const resolve = (reference: string, path: string, isInId: boolean): string => {
      const fail = (message: string): string => {
        flaws.add(text, path, message);
        return PLACEHOLDER;
      };
      const [kind = '', item = '', member = ''] = reference.split('.');
      if (kind === 'env') {
        return (
          (Object.hasOwn(env, item) ? env[item] : undefined) ?? fail(`the environment variable ${item} is not set`)
        );
      }
      const id = kind === 'tokens' ? tokens.get(item) : undefined;
      if (member !== 'id' || !(id !== undefined || (kind === 'apps' && apps.has(item)))) {
        const known = `\${env.NAME}, or \${apps.NAME.id} or \${tokens.NAME.id} of an item in the seed`;
        return fail(`\${${reference}} is unknown; use ${known}`);
      }
      if (isInId) return fail(`\${${reference}} cannot be part of an id`);
      if (id !== undefined) return String(resolveReferences(id, (inner) => resolve(inner, path, true)));
      if (!path.startsWith('tokens.'))
        return fail(`only tokens may use \${${reference}}: applications are created first`);
      return appIds.get(item) ?? PLACEHOLDER;
    };
    return (reference, path) => resolve(reference, path, TOKEN_ID.test(path));
  };
}

const PLACEHOLDER = '00000000-0000-4000-8000-000000000000';
