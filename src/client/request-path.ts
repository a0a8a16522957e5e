/** Returns the path of an operation with its parameters and query. `encode` works like `encodeURIComponent`. */
export function requestPath(
  template: string,
  params: Readonly<Record<string, string>>,
  query: readonly (readonly [name: string, value: string])[],
  encode: (text: string) => string,
): string {
  const path = template.replace(/\{(\w+)\}/g, (_whole, name: string) => encodeSegment(params[name] ?? '', encode));
  return query.length === 0 ? path : `${path}?${query.map((pair) => pair.map(encode).join('=')).join('&')}`;
}

/**
 * Encodes a path segment. Encodes the dots of `.` and `..`, too, so that the vault rejects these ids instead of a URL
 * parser resolving them as folders.
 */
function encodeSegment(value: string, encode: (text: string) => string): string {
  return /^\.{1,2}$/.test(value) ? value.replaceAll('.', '%2E') : encode(value);
}
