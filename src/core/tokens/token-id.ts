const SHORTEST = 3;
/** In characters: code points, of which some are two UTF-16 code units. */
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

/** To compile an expression with a class of Unicode takes longer than a read of the store: few ids have to wait for it. */
const PRINTABLE_ASCII = /^[ -~]*$/;

/** Whether a text may be the id of anything. What could not is no name of anything, and has no place in the audit (decisions §5). */
export function mayBeId(text: string): boolean {
  const isShort = text.length <= LONGEST || (text.length <= 2 * LONGEST && [...text].length <= LONGEST);
  return isShort && (PRINTABLE_ASCII.test(text) || !/\p{Cc}/u.test(text));
}
