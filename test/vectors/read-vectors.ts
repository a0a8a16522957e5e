import { readFileSync } from 'node:fs';

function read(file: string): string {
  return readFileSync(new URL(`./${file}`, import.meta.url), 'utf8');
}

/** Returns the vectors of a JSON file in this folder. README.md describes each file and its origin. */
export function readVectors<T>(name: string): T {
  const vectors: T = JSON.parse(read(`${name}.json`));
  return vectors;
}

/** A case of a table: the headings (`#`, `##`) above it, and its fields. */
export interface TableRow {
  readonly part: string;
  readonly origin: string;
  readonly fields: readonly string[];
}

/**
 * Returns the cases of a text file: one per line, with fields separated by ` → `; an indented line continues a case.
 */
export function readTable(name: string): readonly TableRow[] {
  const rows: TableRow[] = [];
  let part = '';
  let origin = '';
  for (const line of read(`${name}.txt`).replaceAll('\n  ', ' ').split('\n')) {
    if (line.startsWith('# ')) part = line.slice(2);
    else if (line.startsWith('## ')) origin = line.slice(3);
    else if (line !== '') rows.push({ part, origin, fields: line.split(' → ') });
  }
  return rows;
}
