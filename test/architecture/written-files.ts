import type { Rule } from './rules.ts';

/** The functions of node:fs that create a file, replace one, or open one for writing. */
const WRITING: ReadonlySet<string> = new Set(
  'open openSync writeFile writeFileSync appendFile appendFileSync copyFile copyFileSync cp cpSync createWriteStream rename renameSync link linkSync symlink symlinkSync truncate truncateSync promises'.split(
    ' ',
  ),
);

/**
 * The files that may import these functions, and why no device, named pipe or link comes to harm. A file of the user
 * gets its name by `putInPlace` alone, which applies the rule of src/paths/replaceable.ts.
 */
export const WRITERS: Readonly<Record<string, readonly [functions: string, why: string]>> = {
  'src/paths/copy-bytes.ts': ['createWriteStream openSync', 'fills the draft of place-file.ts'],
  'src/paths/create-file.ts': ['open', 'a new file (O_EXCL); opens a folder for its owner'],
  'src/paths/put-in-place.ts': ['link renameSync writeFileSync', 'the rule'],
  'src/paths/replaceable.ts': ['openSync', 'reads'],
  'src/cli/files/whole-file.ts': ['open', 'a new draft (wx), placed by putInPlace'],
  'src/store/sqlite/file/place-file.ts': ['open renameSync', 'syncs; renames its draft on Windows'],
  'src/store/sqlite/file/move-aside.ts': ['renameSync', 'renames a file that passed assertReplaceable to a new name'],
  'src/store/sqlite/file/lock-probe.ts': ['writeFileSync', 'a new file (wx) with a random name'],
  'src/store/sqlite/file/probe-disk.ts': ['open', 'a new file (wx) with a random name'],
  'src/store/move/move-file.ts': ['renameSync', 'renames the locked vault to a name that is free'],
  'src/cli/commands/dev/temporary-folder.ts': ['writeFileSync', 'a new file (wx) in a new folder'],
  'src/cli/commands/dev/dev-vault.ts': ['copyFile', 'within its temporary folder'],
  'src/cli/commands/file/backup.ts': ['copyFileSync', 'into its temporary folder'],
  'src/cli/commands/dev/env.ts': ['appendFileSync', 'appends to the file of a CI job'],
  'src/cli/commands/serve/log-file.ts': ['appendFileSync openSync', 'appends'],
  'src/cli/profiles/profile-store.ts': ['open', 'reads'],
  'src/cli/files/secret-file.ts': ['openSync', 'reads'],
  'src/store/sqlite/file/check-openable.ts': ['openSync', 'reads'],
  'src/store/sqlite/file/open-files.ts': ['openSync', 'opens the null device for reading'],
};

const NAMED = /^import\s+(?:type\s+)?(\{[^}]*\}|[^'"{};]+)\s+from\s+'(?:node:)?fs(?:\/promises)?'/gm;
/** The names that a dynamic import takes at once. */
const TAKEN = /\bconst\s+(\{[^}]*\})\s+=\s+await\s+import\(\s*'(?:node:)?fs(?:\/promises)?'\s*\)/g;
const UNNAMED = /\bimport\(\s*'(?:node:)?fs|\brequire\(\s*'(?:node:)?fs/;

/** Returns the functions of WRITING that a file imports. A whole module counts as each of them. */
function writingFunctions(text: string): readonly string[] {
  if (UNNAMED.test(text.replaceAll(TAKEN, ''))) return ['*'];
  return [...text.matchAll(NAMED), ...text.matchAll(TAKEN)].flatMap(([, clause = '']) => {
    if (!clause.startsWith('{')) return ['*'];
    const names = clause.slice(1, -1).split(',');
    return names.map((name) => name.trim().split(/ as |:/)[0] ?? '').filter((name) => WRITING.has(name));
  });
}

export const pathsAreWrittenByOneRule: Rule = (sources) =>
  [...sources].flatMap(([file, text]) => {
    if (!file.startsWith('src/')) return [];
    const may = WRITERS[file]?.[0].split(' ') ?? [];
    const found = writingFunctions(text).filter((name) => !may.includes(name));
    return found.length === 0 ? [] : [`${file}: writes by ${found.join(', ')}; use src/paths/put-in-place.ts`];
  });
