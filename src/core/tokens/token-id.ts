const SHORTEST = 3;
const LONGEST = 400;

/** Characters with a meaning in a URL, a query or an expression; control characters; lone surrogates. */
const REFUSED = /[#/\\+?[\]|&=%<>{}^\p{Cc}\p{Cs}]/u;

/** Says what is wrong with the id of a new token (decisions §5), or nothing. `.` and `..` are too short to be one. */
export function checkTokenId(id: string): string | undefined {
  const length = [...id].length;
  if (length < SHORTEST || length > LONGEST) return 'must have 3 to 400 characters';
  if (REFUSED.test(id)) return 'must have none of # / \\ + ? [ ] | & = % < > { } ^ and no control characters';
  return undefined;
}
