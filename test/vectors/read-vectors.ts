import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

const bytesOf = (file: string) => readFileSync(new URL(`./${file}`, import.meta.url));

/** Returns the vectors of a JSON file in this folder, which may be compressed. README.md describes each file and its origin. */
export function readVectors<T>(name: string, suffix: '.json' | '.json.gz' = '.json'): T {
  const bytes = bytesOf(name + suffix);
  const vectors: T = JSON.parse((suffix === '.json' ? bytes : gunzipSync(bytes)).toString());
  return vectors;
}

/** A case of a table: the headings (`#`, `##`) above it, and its fields. */
export interface TableRow {
  readonly part: string;
  readonly origin: string;
  readonly fields: readonly string[];
}

/**
 * Returns the cases of a text file: one per line, with fields separated by ` → `; an indented line continues a case. Throws
 * without cases.
 */
export function readTable(name: string): readonly TableRow[] {
  const rows: TableRow[] = [];
  let part = '';
  let origin = '';
  for (const line of bytesOf(`${name}.txt`).toString().replaceAll('\n  ', ' ').split('\n')) {
    if (line.startsWith('# ')) part = line.slice(2);
    else if (line.startsWith('## ')) origin = line.slice(3);
    else if (line !== '') rows.push({ part, origin, fields: line.split(' → ') });
  }
  if (rows.length === 0) throw new Error(`${name}.txt has no cases`);
  return rows;
}
