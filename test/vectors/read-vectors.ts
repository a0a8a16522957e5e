import { readFileSync } from 'node:fs';

/** The vectors of one file of this folder. What each file holds, and where it came from, stands in README.md. */
export function readVectors<T>(name: string): T {
  const vectors: T = JSON.parse(readFileSync(new URL(`./${name}.json`, import.meta.url), 'utf8'));
  return vectors;
}
