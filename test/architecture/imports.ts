import path from 'node:path';

/** An import of a source file. `target` is a path in the checkout for a relative import, otherwise the specifier. */
export interface Import {
  readonly from: string;
  readonly target: string;
  readonly relative: boolean;
  /** Absent at run time: `import type`, or `type` names only. */
  readonly typeOnly: boolean;
  /** `await import()`. */
  readonly dynamic: boolean;
}

const STATIC = /^(?:import|export)\s+(type\s+)?([^'"();]*?)\s*\bfrom\s*['"]([^'"]+)['"]/gm;
const BARE = /^import\s*['"]([^'"]+)['"]/gm;
const DYNAMIC = /\bimport\(\s*['"]([^'"]+)['"]/g;
/** Matches `import('x')` as a type: after a colon, `typeof`, `<`, `|` or `&`. */
const TYPE_QUERY = /(?:[:<|&]|\btypeof)\s*import\(\s*['"]([^'"]+)['"]\s*\)/g;

function onlyTypes(clause: string): boolean {
  const named = clause.match(/^\{([^}]*)\}$/)?.[1];
  if (named === undefined) return false;
  const names = named.split(',').map((name) => name.trim());
  return names.filter((name) => name !== '').every((name) => name.startsWith('type '));
}

/** Returns the imports of a file whose statements begin their lines, as the formatter ensures. */
export function importsOf(from: string, text: string): readonly Import[] {
  const make = (specifier: string, typeOnly: boolean, dynamic: boolean): Import => {
    const relative = specifier.startsWith('.');
    const target = relative ? path.posix.normalize(path.posix.join(path.posix.dirname(from), specifier)) : specifier;
    return { from, target, relative, typeOnly, dynamic };
  };
  const typeQueries = new Set([...text.matchAll(TYPE_QUERY)].map((match) => match.index + match[0].indexOf('import(')));
  return [
    ...[...text.matchAll(STATIC)].map(([, type, clause = '', specifier = '']) =>
      make(specifier, type !== undefined || onlyTypes(clause), false),
    ),
    ...[...text.matchAll(BARE)].map(([, specifier = '']) => make(specifier, false, false)),
    ...[...text.matchAll(DYNAMIC)].map((match) => {
      const typeOnly = typeQueries.has(match.index);
      return make(match[1] ?? '', typeOnly, !typeOnly);
    }),
  ];
}

/** Returns the package of a specifier: `@scope/name` or `name`. */
export function packageName(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}
