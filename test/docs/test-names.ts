import { readFileSync } from 'node:fs';

/**
 * Matches the names of describe, it and test, also after `.each(…)` and `.skipIf(…)` or at the end of a long table.
 * Skipped tests do not match.
 */
const NAMED =
  /^( *)(?:(?:describe|it|test)(?:\(|\.(?!skip\(|todo\()[^\n]*?\)\()|\](?: as const)?\)\()\s*(['"`])((?:\\.|(?!\2)[^\\\n])*)\2,/gm;

/**
 * Returns the full names of the tests in a file's text, `outer > inner > test`, with the templates of `test.each`. The
 * text must be formatted: its indentation shows the nesting.
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

/** Matches a row of a `test.each`: `['name', …]` or `{ name: 'name', … }`. */
const ROW = /^ +(?:\[\s*|\{ name: |name: )(['"`])((?:\\.|(?!\1)[^\\\n])*)\1,/gm;

/** Returns the values of `%s` and `$name` in a file's test names; empty for a file without such names. */
function rowNames(text: string): readonly string[] {
  if (!testNames(text).some((name) => /%[sj]|\$name/.test(name))) return [];
  return [...text.matchAll(ROW)].map(([, , quoted = '']) => quoted.replace(/\\(.)/g, '$1'));
}

/** Returns the test names of a file; empty for a missing file. */
export function namesIn(path: string): readonly string[] {
  let text: string;
  try {
    text = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  } catch {
    return [];
  }
  // In a table of vectors, the first field of a row is its name.
  if (path.endsWith('.txt')) return text.split('\n').map((line) => line.split(' → ')[0] ?? '');
  return [...testNames(text), ...rowNames(text)];
}
