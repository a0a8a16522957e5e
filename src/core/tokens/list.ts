import type { ListTokensQuery } from '../../contract/token.ts';
import { governingTransform } from '../access/governing-transform.ts';
import { visibility } from '../access/visibility.ts';
import type { Caller, Handler, World } from '../handler.ts';
import type { JsonText } from '../json/stringify.ts';
import type {
  Instant,
  PageOf,
  PageRequest,
  PresentedToken,
  TenantKeyring,
  TokenCondition,
  TokenFilter,
} from '../ports.ts';
import { pageOf, pageRequest } from '../request/page.ts';
import { presentedColumns } from './clear-columns.ts';
import { foldCase, indexed, metadataText } from './indexes.ts';
import { presentToken } from './present-token.ts';
import { openPresented } from './token-codec.ts';

/** List Tokens (§4.1): members of one kind of filter are ORed, kinds are ANDed, and the caller's reach is part of the query. */
export const listTokens: Handler<'listTokens'> = async ({ query }, caller, world) => {
  const now = world.clock.now();
  const { keyring } = caller.tenant;
  const { lists, exact } = visibility(caller.grants, 'token:read', keyring);
  const filter = { tenant_id: caller.tenant.record.id, all: conditionsOf(query, keyring), visible: lists };
  const page = pageRequest(query);
  const { records, total } = exact
    ? await world.store.findTokens(filter, page, now)
    : await findGoverned(filter, page, now, caller, world);
  const wanted = Object.entries(query.metadata ?? {});
  const ids: string[] = [];
  const tokens: JsonText[] = [];
  let revealed = false;
  for (const record of records) {
    const presented = presentToken(keyring, caller.grants, record.id, record);
    // A blind index is 16 bytes of a hash: the opened values have the last word.
    if (!presented || !hasMetadata(presented.details.metadata?.text, wanted)) continue;
    revealed ||= presented.transform === 'reveal';
    ids.push(record.id);
    tokens.push(presented.text);
  }
  caller.trail.shown(ids, revealed);
  world.activity.note(records, now);
  return pageOf(query, total, tokens);
};

const SCANNED_AT_ONCE = 500;

/**
 * For rules that no blind index can look for: walks what the store finds and keeps what a rule governs. Its time grows with
 * the tokens of the containers above, not only with those that the caller may read: accepted, since such rules are rare.
 */
async function findGoverned(
  filter: TokenFilter,
  page: PageRequest,
  now: Instant,
  caller: Caller,
  world: World,
): Promise<PageOf<PresentedToken>> {
  const { keyring } = caller.tenant;
  const records: PresentedToken[] = [];
  let total = 0;
  for (let offset = 0; ; offset += SCANNED_AT_ONCE) {
    const found = await world.store.findTokens(filter, { offset, limit: SCANNED_AT_ONCE }, now);
    for (const record of found.records) {
      const { containers } = openPresented(keyring, record.id, record, presentedColumns(record)).details;
      if (!governingTransform(caller.grants, 'token:read', { id: record.id, containers })) continue;
      if (total >= page.offset && records.length < page.limit) records.push(record);
      total++;
    }
    if (found.records.length < SCANNED_AT_ONCE) return { records, total };
  }
}

function conditionsOf({ id, type, metadata }: ListTokensQuery, keyring: TenantKeyring): TokenCondition[] {
  const conditions: TokenCondition[] = [];
  if (id) conditions.push({ id_in: id });
  if (type) conditions.push({ type_in: type });
  for (const [key, value] of Object.entries(metadata ?? {})) {
    conditions.push(indexed(keyring, 'metadata', metadataText(key, value)));
  }
  return conditions;
}

function hasMetadata(text = '{}', wanted: readonly (readonly [key: string, value: string])[]): boolean {
  if (wanted.length === 0) return true;
  // Sealed by sealToken: these are strings, of which the engine's own parser, which is faster, loses nothing.
  const found = JSON.parse(text) as Readonly<Record<string, string>>;
  return wanted.every(([key, value]) => {
    const own = Object.hasOwn(found, key) ? found[key] : undefined;
    return own !== undefined && (own === value || foldCase(own) === foldCase(value));
  });
}
