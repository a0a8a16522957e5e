/** The name of the program: `vault`, or `token-vault`, which starts it beside another program called `vault`. */
const OWN_NAME = /(^|[\\/])token-vault(\.cjs)?$/.test(process.argv[1] ?? '') ? 'token-vault' : 'vault';

/**
 * Matches `vault` as the name of the program: a word follows it, and only certain words precede it. In "the vault" it
 * means the data.
 */
const PROGRAM =
  /(?<![\w./-])(?<!\b(?!(?:and|or|use|run|with|by|compdef|_vault|c|CommandName) )[\w-]+ )vault(?=: | \\?-| [a-z…<[]|$)/gm;

/** Returns a help text, message or script with `vault` replaced by the program name that the user typed. */
export function inOwnName(text: string, name: string = OWN_NAME): string {
  return name === 'vault' ? text : text.replace(PROGRAM, name);
}
