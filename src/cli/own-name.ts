/** The name of the program: `vault`, or `token-vault`, which starts it beside another program called `vault`. */
const OWN_NAME = /(^|[\\/])token-vault(\.js)?$/.test(process.argv[1] ?? '') ? 'token-vault' : 'vault';

/** Matches the program in a text: before a word, unless it follows a word that makes it the data, as in "the vault". */
const PROGRAM =
  /(?<![\w./-])(?<!\b(?!(?:and|or|use|run|with|by|compdef|_vault|c|CommandName) )[\w-]+ )vault(?=: | \\?-| [a-z…<[]|$)/gm;

/** Returns a help, a message or a script with the name that the user has typed in place of `vault`. */
export function inOwnName(text: string, name: string = OWN_NAME): string {
  return name === 'vault' ? text : text.replace(PROGRAM, name);
}
