/** The name of the program: `vault`, or `token-vault`, which starts it beside another program called `vault`. */
const OWN_NAME = nameOf(process.argv[1] ?? '');

function nameOf(startedAs: string): string {
  return /(^|[\\/])token-vault(\.cjs)?$/.test(startedAs) ? 'token-vault' : 'vault';
}

/**
 * Returns the words that start the program: its name, or `npx token-vault` if npm runs it, because the shell may not find
 * the program. `npx vault` could run a stranger's package.
 */
export function startedBy(startedAs: string, command: string | undefined): string {
  const isNpx = command === 'exec' && /[\\/]node_modules[\\/].*[\\/](token-)?vault(\.cjs)?$/.test(startedAs);
  return isNpx ? 'npx token-vault' : nameOf(startedAs);
}

/**
 * Matches `vault` as the name of the program: a word follows it, and only certain words precede it. In "the vault" it
 * means the data.
 */
const PROGRAM =
  /(?<![\w./-])(?<!\b(?!(?:and|or|use|run|with|by|compdef|_vault|c|CommandName) )[\w-]+ )vault(?=: | \\?-| [a-z…<[]|$)/gm;

/** Returns a text with `vault` replaced by the words that start the program. */
export function asStarted(text: string): string {
  return inOwnName(text, startedBy(process.argv[1] ?? '', process.env['npm_command']));
}

/** Returns a text or a script with `vault` replaced by the name of the program. */
export function inOwnName(text: string, name: string = OWN_NAME): string {
  return name === 'vault' ? text : text.replace(PROGRAM, name);
}
