const MIN_LENGTH = 3;
/** The maximum length in characters (code points), some of which are two UTF-16 code units. */
const MAX_LENGTH = 400;

/**
 * The characters that an id must not contain: those with a meaning in a URL, a query or an expression, control
 * characters, and lone surrogates.
 */
const REFUSED = /[#/\\+?[\]|&=%<>{}^\p{Cc}\p{Cs}]/u;

/**
 * Returns the error in the id of a new token (decisions §5), or undefined. `.` and `..` need no check, because they are
 * too short.
 */
export function checkTokenId(id: string): string | undefined {
  const length = [...id].length;
  if (length < MIN_LENGTH || length > MAX_LENGTH) return 'must have 3 to 400 characters';
  if (REFUSED.test(id)) return 'must not contain # / \\ + ? [ ] | & = % < > { } ^ or control characters';
  return undefined;
}

/**
 * Checked first: compiling a regular expression with a Unicode class takes longer than a read of the store, and few ids
 * need one.
 */
const PRINTABLE_ASCII = /^[ -~]*$/;

/** Returns whether a text can be a token id. Other texts must not enter the audit (decisions §5). */
export function mayBeId(text: string): boolean {
  const isShort = text.length <= MAX_LENGTH || (text.length <= 2 * MAX_LENGTH && [...text].length <= MAX_LENGTH);
  return isShort && (PRINTABLE_ASCII.test(text) || !/\p{Cc}/u.test(text));
}
