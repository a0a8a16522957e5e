import type { TokenType } from '../../../client/create-client.ts';
import { TOKEN_TYPES, type TokenTypeRow } from '../../../contract/token-types.ts';

/** The members of a new token, as typed. */
export interface TokenDraft {
  readonly type: TokenType;
  readonly data: string;
  readonly mask: string;
  readonly search_indexes: string;
  readonly fingerprint_expression: string;
  readonly id: string;
  readonly containers: string;
  readonly metadata: string;
  readonly expires_at: string;
  readonly deduplicate_token: string;
}

export const EMPTY_DRAFT: TokenDraft = {
  ...{ type: 'token', data: '', mask: '', search_indexes: '', fingerprint_expression: '', id: '' },
  ...{ containers: '', metadata: '', expires_at: '', deduplicate_token: '' },
};

type Member = Exclude<keyof TokenDraft, 'type'>;

/** The functions that convert the typed text of each member to JSON. */
const WRITTEN: Readonly<Record<Member, (text: string, draft: TokenDraft) => string>> = {
  data: dataText,
  mask: jsonOrText,
  search_indexes: (text) => JSON.stringify(lines(text)),
  fingerprint_expression: (text) => JSON.stringify(text),
  id: (text) => JSON.stringify(text),
  containers: (text) => JSON.stringify(lines(text)),
  metadata: (text) => JSON.stringify(pairs(text)),
  expires_at: (text) => JSON.stringify(text),
  deduplicate_token: (text) => text,
};

/**
 * Returns the body that creates the token. It is text, so that numbers in `data` stay as typed. Omits empty members.
 */
export function createText(draft: TokenDraft): string {
  return objectText([['type', JSON.stringify(draft.type)], ...memberTexts(draft)]);
}

function memberTexts(draft: TokenDraft): readonly (readonly [string, string])[] {
  return (Object.keys(WRITTEN) as Member[]).flatMap((name) =>
    draft[name].trim() === '' ? [] : [[name, WRITTEN[name](draft[name], draft)] as const],
  );
}

function objectText(members: readonly (readonly [string, string])[]): string {
  return `{${members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
}

/** Returns whether the draft's `data` is parsed as JSON. For types whose data is text, digits are text, too. */
export function isReadAsJson({ type, data }: Pick<TokenDraft, 'type' | 'data'>): boolean {
  const row: TokenTypeRow = TOKEN_TYPES[type];
  return isJson(data) && (row.data.kind !== 'text' || data.trimStart().startsWith('"'));
}

function dataText(text: string, { type }: TokenDraft): string {
  return isReadAsJson({ type, data: text }) ? text : JSON.stringify(text);
}

function jsonOrText(text: string): string {
  return isJson(text) ? text : JSON.stringify(text);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const lines = (text: string): readonly string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);

/** Parses lines of `name=value`. */
function pairs(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    lines(text).map((line) => {
      const [name = '', ...value] = line.split('=');
      return [name.trim(), value.join('=').trim()];
    }),
  );
}

/** Members that the form can show. Clearing one of them removes it. */
const READABLE = ['containers', 'metadata', 'expires_at'] as const;

/** Returns the merge patch (RFC 7396) between two drafts of a token, as text. */
export function patchText(before: TokenDraft, after: TokenDraft): string {
  const changed = memberTexts(after).filter(
    ([name]) => before[name as keyof TokenDraft] !== after[name as keyof TokenDraft],
  );
  const removed = READABLE.filter((name) => before[name].trim() !== '' && after[name].trim() === '');
  return objectText([
    ...changed.map(([name, text]) => [name, patchOf(name, text, before, after)] as const),
    ...removed.map((name) => [name, 'null'] as const),
  ]);
}

function patchOf(name: string, text: string, before: TokenDraft, after: TokenDraft): string {
  if (name === 'metadata') return metadataPatch(pairs(before.metadata), pairs(after.metadata));
  return after[name as keyof TokenDraft].trim() === 'null' && name !== 'data' ? 'null' : text;
}

type Pairs = Readonly<Record<string, string>>;

function metadataPatch(before: Pairs, after: Pairs): string {
  const set = Object.entries(after).filter(([name, value]) => before[name] !== value);
  const gone = Object.keys(before).filter((name) => !Object.hasOwn(after, name));
  return JSON.stringify(Object.fromEntries([...set, ...gone.map((name) => [name, null])]));
}
