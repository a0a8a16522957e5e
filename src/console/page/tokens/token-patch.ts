import { memberTexts, objectText, pairs, type TokenDraft } from './token-draft.ts';

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
