/** The name of the program: `vault`, or `token-vault`, which starts it beside another program called `vault`. */
const OWN_NAME = nameOf(process.argv[1] ?? '');

function nameOf(startedAs: string): string {
  return /(^|[\\/])token-vault(\.cjs)?$/.test(startedAs) ? 'token-vault' : 'vault';
}

/**
 * Returns what a user types to start the program: its name, after `npx` if npm runs it from a package, since the shell
 * may not find it then.
 */
export function startedBy(startedAs: string, command: string | undefined): string {
  const isNpx = command === 'exec' && /[\\/]node_modules[\\/].*[\\/](token-)?vault(\.cjs)?$/.test(startedAs);
  return isNpx ? `npx ${nameOf(startedAs)}` : nameOf(startedAs);
}

/**
 * Matches `vault` as the name of the program: a word follows it, and only certain words precede it. In "the vault" it
 * means the data.
 */
const PROGRAM =
  /(?<![\w./-])(?<!\b(?!(?:and|or|use|run|with|by|compdef|_vault|c|CommandName) )[\w-]+ )vault(?=: | \\?-| [a-z…<[]|$)/gm;

/** Returns a message or a help text with `vault` replaced by what starts the program, as `startedBy` does. */
export function asStarted(text: string): string {
  return inOwnName(text, startedBy(process.argv[1] ?? '', process.env['npm_command']));
}

/** Returns a text or a script with `vault` replaced by the name of the program. */
export function inOwnName(text: string, name: string = OWN_NAME): string {
  return name === 'vault' ? text : text.replace(PROGRAM, name);
}
