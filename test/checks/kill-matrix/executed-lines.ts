import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { join, posix } from 'node:path';

/** V8's counts of a function: of the whole function first, then of the blocks in it. */
export interface CountedFunction {
  readonly ranges: readonly { readonly startOffset: number; readonly endOffset: number; readonly count: number }[];
}

/** The words of a script: their offsets in ascending order, and the line of a source that each comes from. */
export interface Words {
  readonly starts: readonly number[];
  /** `src/file.ts:LINE` */
  readonly lines: readonly (string | undefined)[];
}

function originOf(map: SourceMap, file: string, row: number, column: number): string | undefined {
  const found = map.findEntry(row, column);
  if (!('originalSource' in found)) return undefined;
  const source = posix.join(posix.dirname(file), found.originalSource);
  return source.startsWith('src/') ? `${source}:${found.originalLine + 1}` : undefined;
}

/** Returns the words of a source or, with its source map, of a bundle. `file` is a path from the root. */
function wordsOf(file: string, text: string, map?: SourceMap): Words {
  const starts: number[] = [];
  const lines: (string | undefined)[] = [];
  let before = 0;
  for (const [row, line] of text.split('\n').entries()) {
    for (const { index } of line.matchAll(/\w+|[^\w\s]+/g)) {
      starts.push(before + index);
      lines.push(map === undefined ? `${file}:${row + 1}` : originOf(map, file, row, index));
    }
    before += line.length + 1;
  }
  return { starts, lines };
}

/** Returns the index of the first word at or after an offset. */
function firstFrom(starts: readonly number[], offset: number): number {
  let [low, high] = [0, starts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((starts[middle] ?? 0) < offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the lines of which a word ran, according to its innermost block. */
function executedLines({ starts, lines }: Words, functions: readonly CountedFunction[]): ReadonlySet<string> {
  const ran = new Uint8Array(starts.length);
  for (const { startOffset, endOffset, count } of functions.flatMap(({ ranges }) => ranges)) {
    ran.fill(count > 0 ? 1 : 0, firstFrom(starts, startOffset), firstFrom(starts, endOffset));
  }
  return new Set(lines.filter((line, index): line is string => line !== undefined && ran[index] === 1));
}

interface Counts {
  readonly result: readonly { readonly url: string; readonly functions: readonly CountedFunction[] }[];
}

/** Files of the project in the URLs of scripts. Tests also run copies of the built product in other folders. */
const OURS = /^file:.*\/(?<file>(?:src|dist|test)\/.*\.(?:[cm]?js|ts))$/;

/** The files that processes loaded, and the lines of src/ that they executed, by file. */
interface Executed {
  readonly files: ReadonlySet<string>;
  readonly lines: Readonly<Record<string, readonly number[]>>;
}

/** Returns a function that reads a folder of V8's counts, written by processes of the product in `root`. */
export function countsReader(root: string): (folder: string) => Executed {
  const known = new Map<string, Words>();
  function wordsIn(file: string): Words {
    const path = join(root, file);
    const map = () => new SourceMap(JSON.parse(readFileSync(`${path}.map`, 'utf8')));
    const words =
      known.get(file) ?? wordsOf(file, readFileSync(path, 'utf8'), file.startsWith('dist/') ? map() : undefined);
    known.set(file, words);
    return words;
  }
  return (folder) => {
    const files = new Set<string>();
    const lines = new Set<string>();
    for (const name of readdirSync(folder)) {
      const { result }: Counts = JSON.parse(readFileSync(join(folder, name), 'utf8'));
      for (const { url, functions } of result) {
        const file = OURS.exec(url)?.groups?.['file'];
        if (file === undefined || !existsSync(join(root, file.startsWith('dist/') ? `${file}.map` : file))) continue;
        files.add(file);
        if (file.startsWith('test/')) continue;
        for (const line of executedLines(wordsIn(file), functions)) lines.add(line);
      }
    }
    const byFile = [...Map.groupBy(lines, (line) => line.slice(0, line.indexOf(':')))].map(
      ([file, own]) => [file, own.map((line) => Number(line.slice(file.length + 1)))] as const,
    );
    return { files: new Set([...files, ...byFile.map(([file]) => file)]), lines: Object.fromEntries(byFile) };
  };
}
