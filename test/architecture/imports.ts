import path from 'node:path';

/** One import of a source file. `target` is a path below the checkout for a relative import, else the specifier. */
export interface Import {
  readonly from: string;
  readonly target: string;
  readonly relative: boolean;
  /** Gone at run time: `import type`, or only `type` names. */
  readonly typeOnly: boolean;
  /** `await import()`. */
  readonly dynamic: boolean;
}

const STATIC = /^(?:import|export)\s+(type\s+)?([^'"();]*?)\s*\bfrom\s*['"]([^'"]+)['"]/gm;
const BARE = /^import\s*['"]([^'"]+)['"]/gm;
const DYNAMIC = /\bimport\(\s*['"]([^'"]+)['"]/g;
/** `import('x').Name` in the place of a type: a colon, `typeof`, `<` or `|` before, a dot and a capital behind. */
const TYPE_QUERY = /(?:[:<|&]|\btypeof)\s*import\(\s*['"]([^'"]+)['"]\s*\)/g;

function onlyTypes(clause: string): boolean {
  const named = clause.match(/^\{([^}]*)\}$/)?.[1];
  if (named === undefined) return false;
  const names = named.split(',').map((name) => name.trim());
  return names.filter((name) => name !== '').every((name) => name.startsWith('type '));
}

/** The import statements of one file. Statements begin their line: the formatter sees to that. */
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

/** `@scope/name` or `name` of a package's specifier. */
export function packageName(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}
