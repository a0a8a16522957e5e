import type { Rule, Sources } from './rules.ts';

interface Repeat {
  readonly names: string;
  /** The files that define a name, or the folder of each. */
  readonly in: readonly string[];
  readonly why: string;
}

const STORES = ['src/store/postgres/', 'src/store/sqlite/'];

/** The names that may have several definitions. */
const REPEATS: readonly Repeat[] = [
  {
    names: 'containerSets ContainerSets inspectTables planTokens planWalk whereQuery',
    in: STORES,
    why: 'each store has its own SQL for the same part of the port',
  },
  {
    names: 'readHeader withConnection toProblem uuid uuidKey',
    in: STORES,
    why: 'each driver has its own connections, errors and ids',
  },
  {
    names: 'SCANNED_COLUMNS toPresentedToken',
    in: STORES,
    why: 'the same rows, as each driver returns them',
  },
  {
    names: 'JsonNumber',
    in: ['src/contract/json.ts', 'src/core/json/kind.ts'],
    why: 'the contract has the shape, the core the class',
  },
];

const EXPORTED =
  /^export (?:(?:declare |abstract |async )*(?:function\*?|const|let|class|interface|type|enum) (\w+)|(?:const|let) \{([^}]*)\})/gm;

/** Returns the exported names of src, each with the files that define it. A type and a value may share a name. */
function definitionsOf(sources: Sources): ReadonlyMap<string, ReadonlySet<string>> {
  const files = new Map<string, Set<string>>();
  for (const [file, text] of sources) {
    if (!file.startsWith('src/')) continue;
    for (const [, name, pattern = ''] of text.matchAll(EXPORTED)) {
      const taken = pattern.split(',').map((part) => part.replace(/^.*:|=.*$/g, '').trim());
      for (const one of name === undefined ? taken.filter(Boolean) : [name]) {
        files.set(one, (files.get(one) ?? new Set()).add(file));
      }
    }
  }
  return files;
}

function isAllowed(name: string, files: readonly string[]): boolean {
  const repeat = REPEATS.find(({ names }) => names.split(' ').includes(name));
  return (
    repeat !== undefined &&
    files.length === repeat.in.length &&
    repeat.in.every((folder) => files.some((file) => file.startsWith(folder)))
  );
}

/** Rejects a name that several files export: a reader who searches for it finds the other one. */
export const exportedNamesAreUnique: Rule = (sources) =>
  [...definitionsOf(sources)].flatMap(([name, found]) => {
    const files = [...found];
    return files.length === 1 || isAllowed(name, files) ? [] : [`${name}: defined in ${files.join(' and ')}`];
  });

/** Returns the names of REPEATS that no longer have several definitions. */
export function endedRepeats(sources: Sources): readonly string[] {
  const files = definitionsOf(sources);
  return REPEATS.flatMap(({ names }) => names.split(' ')).filter((name) => (files.get(name)?.size ?? 0) < 2);
}
