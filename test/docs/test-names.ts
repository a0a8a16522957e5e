import { readFileSync } from 'node:fs';

/** `describe('…'`, `it('…'`, `test.each(…)('…'`, `it.skipIf(…)('…'`, and the `])('…'` that ends a long table. What is skipped is not found. */
const NAMED =
  /^( *)(?:(?:describe|it|test)(?:\(|\.(?!skip\(|todo\()[^\n]*?\)\()|\](?: as const)?\)\()\s*(['"`])((?:\\.|(?!\2)[^\\\n])*)\2,/gm;

/**
 * The full names of the tests in a file's text, `outer > inner > test`; those of `test.each` by their template. Read from
 * the text as biome formats it, where the indentation tells what is inside of what.
 */
export function testNames(text: string): readonly string[] {
  const outer: { readonly indent: number; readonly name: string }[] = [];
  const names: string[] = [];
  for (const [, space = '', , quoted = ''] of text.matchAll(NAMED)) {
    while ((outer.at(-1)?.indent ?? -1) >= space.length) outer.pop();
    outer.push({ indent: space.length, name: quoted.replace(/\\(.)/g, '$1') });
    names.push(outer.map(({ name }) => name).join(' > '));
  }
  return names;
}

/** A row of a `test.each`: `['what it is', …]` or `{ name: 'what it is', … }`. */
const ROW = /^ +(?:\[\s*|\{ name: |name: )(['"`])((?:\\.|(?!\1)[^\\\n])*)\1,/gm;

/** What `%s` and `$name` stand for in the names of a file's tests; empty for a file without such names. */
function rowNames(text: string): readonly string[] {
  if (!testNames(text).some((name) => /%[sj]|\$name/.test(name))) return [];
  return [...text.matchAll(ROW)].map(([, , quoted = '']) => quoted.replace(/\\(.)/g, '$1'));
}

/** The names of what a file tests; empty for a file that is not there. */
export function namesIn(path: string): readonly string[] {
  let text: string;
  try {
    text = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  } catch {
    return [];
  }
  // A table of vectors: the first field of a row is its name, and a test of the file that reads it.
  if (path.endsWith('.txt')) return text.split('\n').map((line) => line.split(' → ')[0] ?? '');
  return [...testNames(text), ...rowNames(text)];
}
