const SHORTEST = 3;
/** In characters (code points), some of which are two UTF-16 code units. */
const LONGEST = 400;

/** Characters with a meaning in a URL, a query or an expression; control characters; lone surrogates. */
const REFUSED = /[#/\\+?[\]|&=%<>{}^\p{Cc}\p{Cs}]/u;

/** Returns the error in the id of a new token (decisions §5), or undefined. `.` and `..` are too short anyway. */
export function checkTokenId(id: string): string | undefined {
  const length = [...id].length;
  if (length < SHORTEST || length > LONGEST) return 'must have 3 to 400 characters';
  if (REFUSED.test(id)) return 'must have none of # / \\ + ? [ ] | & = % < > { } ^ and no control characters';
  return undefined;
}

/** Compiling an expression with a Unicode class takes longer than a read of the store; few ids need it. */
const PRINTABLE_ASCII = /^[ -~]*$/;

/** Returns whether a text can be an id. Other texts name nothing and must not enter the audit (decisions §5). */
export function mayBeId(text: string): boolean {
  const isShort = text.length <= LONGEST || (text.length <= 2 * LONGEST && [...text].length <= LONGEST);
  return isShort && (PRINTABLE_ASCII.test(text) || !/\p{Cc}/u.test(text));
}
