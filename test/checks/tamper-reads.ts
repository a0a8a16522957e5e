import type { OperationId } from '../../src/contract/operations.ts';
import type { Vault } from '../../src/vault/vault.ts';
import type { TamperVault } from './tamper-vault.ts';

export interface ReadReply {
  readonly status: number;
  readonly text: string;
}

export type Replies = ReadonlyMap<string, ReadReply>;

/**
 * How a reply of an altered vault differs from that of the sound vault. `same`: equal. `older`: equal to the reply
 * before the last change. `error`: a clear error. `less`: something is missing, which doctor must find. `counters`:
 * only counters differ, which are not sealed. `other`: anything else, which must never happen.
 */
export type Verdict = 'same' | 'older' | 'error' | 'less' | 'counters' | 'other';

const TOKEN_QUERIES = [
  ...['size=100', 'page=2&size=2', 'metadata.tag=tag 1', 'metadata.tag=tag 2', 'type=card', 'id=token-1'],
];
const SEARCHES = [
  ...['data:6789', 'NOT data:6789', 'metadata.tag:"tag 1" OR metadata.tag:"tag 3"', 'NOT metadata.tag:"tag 1"'],
  ...['container:/pci/*', '-container:/pii/high/', 'type:social_security_number'],
];
/** Paged lists. When an item is missing, later items may move to another page. */
const WHOLE = TOKEN_QUERIES.slice(0, 2);

/** Reads each token, application, tenant and usage report, as each reader and manager. */
export async function readEverything(
  vault: Pick<Vault, 'dispatch'>,
  { readers, managers, tokens }: Pick<TamperVault, 'readers' | 'managers' | 'tokens'>,
  applications: readonly string[],
): Promise<Replies> {
  const replies = new Map<string, ReadReply>();
  async function read(who: number, apiKey: string, operation: OperationId, id?: string, query = ''): Promise<void> {
    const params = id === undefined ? {} : { id };
    const reply = await vault.dispatch({ operation, apiKey, params, query: [...new URLSearchParams(query)] });
    replies.set([operation, who, id ?? query].join(' '), { status: reply.status, text: reply.bodyText ?? '' });
  }
  async function search(who: number, apiKey: string, query: string): Promise<void> {
    const bodyText = JSON.stringify({ query });
    const call = {
      operation: 'searchTokens',
      apiKey,
      params: {},
      query: [],
      mediaType: 'application/json',
      bodyText,
    } as const;
    const reply = await vault.dispatch(call);
    replies.set(['listTokens by search', who, query].join(' '), { status: reply.status, text: reply.bodyText ?? '' });
  }
  for (const [who, key] of readers.entries()) {
    for (const query of TOKEN_QUERIES) await read(who, key, 'listTokens', undefined, query);
    for (const query of SEARCHES) await search(who, key, query);
    for (const id of tokens) await read(who, key, 'getToken', id);
  }
  for (const [who, key] of managers.entries()) {
    await read(who, key, 'listApplications', undefined, 'size=100');
    await read(who, key, 'getApplicationByKey');
    await read(who, key, 'getTenant');
    await read(who, key, 'getUsageReport');
    for (const id of applications) await read(who, key, 'getApplication', id);
  }
  return replies;
}

/** Returns the ids of the applications that the first manager sees. */
export function applicationsIn(replies: Replies): readonly string[] {
  return listOf(replies.get('listApplications 0 size=100')).items.map((item) => {
    return String((item as { readonly id: string }).id);
  });
}

const CLEAR = new Set(['integrity_failure']);
const GONE = new Set([
  'unauthenticated',
  'token_not_found',
  'application_not_found',
  'no_governing_rule',
  'permission_missing',
]);

/** Compares a reply with the sound one `now`, and with that `before` the last change if rows were restored. */
export function judgeReply(name: string, found: ReadReply, now: Replies, before?: Replies): Verdict {
  const verdict = judgeAgainst(name, found, now);
  if (before === undefined || verdict === 'same' || verdict === 'error') return verdict;
  if (judgeAgainst(name, found, before) === 'same') return 'older';
  return verdict === 'other' && mixed(name, found, [now, before]) ? 'older' : verdict;
}

function judgeAgainst(name: string, found: ReadReply, sound: Replies): Verdict {
  const expected = sound.get(name);
  if (expected === undefined) return 'other';
  if (found.status >= 400) {
    const code = codeOf(found);
    if (expected.status === found.status && codeOf(expected) === code) return 'same';
    if (CLEAR.has(code)) return 'error';
    return GONE.has(code) ? 'less' : 'other';
  }
  if (found.text === expected.text) return 'same';
  if (name.startsWith('getUsageReport') || withoutCount(found) === withoutCount(expected)) return 'counters';
  if (!name.startsWith('list')) return 'other';
  const known = knownItems(name, [sound]);
  const { items, total } = listOf(found);
  const strange = items.filter((item) => !known.has(JSON.stringify(item)));
  if (strange.length > 0) return 'other';
  const expectedList = listOf(expected);
  return items.length < expectedList.items.length || total < expectedList.total ? 'less' : 'counters';
}

/** Returns a reply without the number of expiring applications, which counts rows and is not sealed. */
function withoutCount({ text }: ReadReply): string {
  return text.replace(/,"expiring_applications":\d+/, '');
}

/** Returns true for a list that contains only current and older items. */
function mixed(name: string, found: ReadReply, sound: readonly Replies[]): boolean {
  if (found.status >= 400 || !name.startsWith('list')) return false;
  const known = knownItems(name, sound);
  return listOf(found).items.every((item) => known.has(JSON.stringify(item)));
}

function knownItems(name: string, sound: readonly Replies[]): ReadonlySet<string> {
  const page = WHOLE.find((query) => name.startsWith('listTokens') && name.endsWith(query));
  const whole = page === undefined ? name : name.replace(page, WHOLE[0] ?? '');
  return new Set(sound.flatMap((replies) => listOf(replies.get(whole)).items.map((item) => JSON.stringify(item))));
}

function listOf(reply: ReadReply | undefined): { readonly items: readonly unknown[]; readonly total: number } {
  if (reply === undefined || reply.status >= 400) return { items: [], total: 0 };
  const { data, pagination } = JSON.parse(reply.text) as {
    readonly data: readonly unknown[];
    readonly pagination: { readonly total_items: number };
  };
  return { items: data, total: pagination.total_items };
}

export function codeOf({ text }: ReadReply): string {
  const { type } = JSON.parse(text) as { readonly type: string };
  return type.split(/[/:]/).at(-1) ?? '';
}
