import type { MemberPath } from './check-schema.ts';
import type { SeedText } from './read-seed-file.ts';
import { type Resolve, resolveReferences } from './references.ts';
import type { SeedFlaws } from './seed-flaws.ts';
import type { ItemNames } from './seed-items.ts';

/** What references stand for, when the ids of applications are these. */
export type ResolveWith = (idOfApp: (item: string) => string) => Resolve;

/** Stands for the id of an application while that is not known, and for what a reference to nothing names. */
export const PLAIN_ID = '00000000-0000-4000-8000-000000000000';

/** Resolves the references of one file; those to nothing are flaws. */
export function resolverOf(
  text: SeedText,
  known: ItemNames & { readonly env: Readonly<Record<string, string | undefined>> },
  flaws: Pick<SeedFlaws, 'add'>,
): ResolveWith {
  const fail = (path: MemberPath, message: string): string => {
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
      if (path[0] !== 'tokens')
        return fail(path, `\${${reference}} is known to tokens only: applications are made before`);
      if (path[2] === 'id') return fail(path, `\${${reference}} cannot be part of an id: another vault has others`);
      return idOfApp(item);
    }
    if (kind === 'tokens' && member === 'id' && known.tokenIds.has(item)) {
      return String(resolveReferences(known.tokenIds.get(item) ?? '', ofEnvironment, path));
    }
    return fail(
      path,
      `\${${reference}} names nothing: \${env.NAME}, \${apps.NAME.id} or \${tokens.NAME.id} of an item of the seed`,
    );
  };
}
