import type { TokenType } from '../../../client/create-client.ts';
import { TOKEN_TYPES } from '../../../contract/token-types.ts';

/** The terms of a filter. `find` searches the search indexes; the address never contains it. */
export interface FilterTerms {
  readonly type: readonly TokenType[];
  readonly container: readonly string[];
  readonly id: readonly string[];
  readonly fingerprint: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly find?: string;
}

const TERM = /(?:[^\s"]|"[^"]*")+/g;
const NAMES = { type: 'type', in: 'container', id: 'id', fp: 'fingerprint' } as const;

/** Parses a filter. Returns an error message for the first invalid term. */
export function parseFilter(text: string): FilterTerms | string {
  const lists: Record<'container' | 'id' | 'fingerprint' | 'type', string[]> = {
    ...{ type: [], container: [], id: [], fingerprint: [] },
  };
  const metadata: Record<string, string> = {};
  let find: string | undefined;
  for (const [term] of text.matchAll(TERM)) {
    const [, name = '', sign = '', quoted = ''] = /^([^:=]*)([:=]?)(.*)$/s.exec(term) ?? [];
    const value = quoted.replaceAll('"', '');
    if (sign === '' || value === '') return `${term} is not a filter. Use type:, in:, id:, fp:, find: or name=value.`;
    if (sign === '=') metadata[name] = value;
    else if (name === 'find') find = value;
    else if (isName(name)) lists[NAMES[name]].push(value);
    else return `${name}: is not a filter. Use type:, in:, id:, fp: or find:.`;
  }
  const strange = lists.type.find((type) => !isType(type));
  if (strange !== undefined) return `${strange} is not a type. Types are ${Object.keys(TOKEN_TYPES).join(', ')}.`;
  const type = lists.type.filter(isType);
  return { ...lists, type, metadata, ...(find !== undefined && { find }) };
}

/** Returns the terms of a filter that the address may contain: all except `find:`. */
export function addressable(text: string): string {
  return (text.match(TERM) ?? []).filter((term) => !term.startsWith('find:')).join(' ');
}

/** Returns the filter as a query of `POST /tokens/search`. */
export function searchQuery({ type, container, id, fingerprint, metadata, find = '' }: FilterTerms): string {
  const anyOf = (field: string, values: readonly string[], more = '') =>
    values.length === 0 ? [] : [`(${values.map((value) => `${field}:${quote(value)}${more}`).join(' OR ')})`];
  const below = container.flatMap((path) => [`container:${quote(path)}`, `container:${path}*`]);
  return [
    `data:${quote(find)}`,
    ...anyOf('type', type),
    ...(below.length === 0 ? [] : [`(${below.join(' OR ')})`]),
    ...anyOf('id', id),
    ...anyOf('fingerprint', fingerprint),
    ...Object.entries(metadata).map(([name, value]) => `metadata.${name}:${quote(value)}`),
  ].join(' AND ');
}

const quote = (text: string): string => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;

const isName = (name: string): name is keyof typeof NAMES => Object.hasOwn(NAMES, name);
const isType = (type: string): type is TokenType => Object.hasOwn(TOKEN_TYPES, type);
