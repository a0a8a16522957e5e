/** The path of a row of the table with its parameters and its query, encoded by `encode` as `encodeURIComponent` does. */
export function requestPath(
  template: string,
  params: Readonly<Record<string, string>>,
  query: readonly (readonly [name: string, value: string])[],
  encode: (text: string) => string,
): string {
  const path = template.replace(/\{(\w+)\}/g, (_whole, name: string) => encodeSegment(params[name] ?? '', encode));
  return query.length === 0 ? path : `${path}?${query.map((pair) => pair.map(encode).join('=')).join('&')}`;
}

/** Dots are encoded too: `..` is an id that the vault refuses, not the folder above. */
function encodeSegment(value: string, encode: (text: string) => string): string {
  return /^\.{1,2}$/.test(value) ? value.replaceAll('.', '%2E') : encode(value);
}
