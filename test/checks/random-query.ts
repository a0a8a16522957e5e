import type { Draw } from './model-fuzz-bodies.ts';

const MAX_LENGTH = 1_000;

/** Values that queries refer to, in addition to the constants below. */
export interface Named {
  readonly now: number;
  id(): string;
  fingerprint(): string;
  application(): string;
}

/** Search and metadata values, including case folds to several letters and two normal forms of one text. */
export const TEXTS = [
  ...['x', 'X', 'ÄÖ', 'äö', 'a\u0308O\u0308', 'Straße', 'STRASSE', 'Straſse'],
  ...['4242', '6789', '123-45-6789', 'a "b" \\', 'AND', '(x)', 'nothing'],
] as const;
export const METADATA_KEYS = ['k', 'a.b', 'K', 'ä k'] as const;

/** Returns a valid random query of one or more clauses. */
export function randomQuery(draw: Draw, named: Named): string {
  const day = (offset: number) => new Date(named.now + offset * 86_400_000).toISOString().slice(0, 10);
  const instant = () => new Date(named.now + (draw.below(9) - 4) * 43_200_000).toISOString();
  const bound = (offset: number) =>
    draw.weighted([
      ['*', 1],
      [day(offset), 2],
      [instant(), 2],
    ]);
  const clauses = [
    () => `type:${draw.one(['token', 'card', 'bank', 'card_number', 'social_security_number', 'nothing'])}`,
    () => `metadata.${quoted(draw.one(METADATA_KEYS))}:${quoted(draw.one(['', ...TEXTS]))}`,
    () => `id:${quoted(named.id())}`,
    () => `container:${draw.one(['/', '*', '/*', '/pci/*', '/pci/high/', '/PCI/High/*', '/general/high/', '/x/*'])}`,
    () => `fingerprint:${named.fingerprint()}`,
    () => `${draw.one(['created_by', 'modified_by'])}:${named.application()}`,
    () => `data:${quoted(draw.one(TEXTS))}`,
    () => `${draw.one(['created_at', 'modified_at', 'expires_at'])}:${range()}`,
    () => `${draw.one(['created_at', 'modified_at', 'expires_at'])}:${day(draw.below(4) - 2)}`,
  ];
  // A range without any time is invalid.
  const range = (): string => {
    const [opened, closed] = [draw.one(['[', '{']), draw.one([']', '}'])];
    return draw.chance(0.5) ? `${opened}${bound(-3)} TO *${closed}` : `${opened}* TO ${bound(3)}${closed}`;
  };
  const term = (depth: number): string => {
    const not = draw.chance(0.2) ? draw.one(['NOT ', '-', '!']) : '';
    if (depth === 0 || draw.chance(0.7)) return `${not}${draw.one(clauses)()}`;
    return `${not}(${term(depth - 1)} ${draw.one(['AND', 'OR'])} ${term(depth - 1)})`;
  };
  let query = term(2);
  while (draw.chance(0.4)) query += ` ${draw.one(['AND', 'OR', ''])} ${term(1)}`;
  return query.length > MAX_LENGTH ? randomQuery(draw, named) : query;
}

const quoted = (text: string) => `"${text.replace(/[\\"]/g, '\\$&')}"`;
