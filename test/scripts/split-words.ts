/** The words of a command line, and the variables set in front of it. */
export interface CommandLine {
  readonly env: Readonly<Record<string, string>>;
  readonly words: readonly string[];
}

const PIECE =
  /'(?<single>[^']*)'|"(?<double>(?:[^"\\]|\\.)*)"|\\(?<escaped>.)|\$(?<name>[A-Z_]+)|(?<plain>[^\s'"\\$]+|\$)|(?<space>\s+)/y;

/** Splits a line like a shell, as README.md describes. Throws when a variable has no value. */
export function splitWords(line: string, variables: ReadonlyMap<string, string>): CommandLine {
  const words: string[] = [];
  let word: string | undefined;
  PIECE.lastIndex = 0;
  while (PIECE.lastIndex < line.length) {
    const at = PIECE.lastIndex;
    const groups = PIECE.exec(line)?.groups;
    if (groups === undefined) throw new Error(`cannot split at character ${at}: ${line}`);
    if (groups['space'] !== undefined) {
      if (word !== undefined) words.push(word);
      word = undefined;
      continue;
    }
    const { single, double, escaped, name, plain } = groups;
    word =
      (word ?? '') +
      (single ?? escaped ?? plain ?? (name === undefined ? expand(double ?? '', variables) : look(name, variables)));
  }
  if (word !== undefined) words.push(word);
  const start = words.findIndex((one) => !/^[A-Z_]+=/.test(one));
  const env = words.slice(0, start).map((one) => [one.slice(0, one.indexOf('=')), one.slice(one.indexOf('=') + 1)]);
  return { env: Object.fromEntries(env), words: words.slice(start) };
}

function expand(text: string, variables: ReadonlyMap<string, string>): string {
  return text.replace(
    /\\(.)|\$([A-Z_]+)/g,
    (_whole, escaped?: string, name?: string) => escaped ?? look(name ?? '', variables),
  );
}

function look(name: string, variables: ReadonlyMap<string, string>): string {
  const value = variables.get(name);
  if (value === undefined) throw new Error(`$${name} has no value`);
  return value;
}
