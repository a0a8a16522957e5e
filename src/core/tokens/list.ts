import type { ListTokensQuery } from '../../contract/token.ts';
import { governingTransform } from '../access/governing-transform.ts';
import { visibility } from '../access/visibility.ts';
import type { Caller } from '../caller.ts';
import type { Handler } from '../handler.ts';
import { parseJson } from '../json/parse.ts';
import { pageOf, pageRequest } from '../page.ts';
import type { Instant, PageOf, PageRequest, ShownToken, TenantKeyring, TokenCondition, TokenFilter } from '../ports.ts';
import type { World } from '../world.ts';
import { foldCase } from './fold-case.ts';
import { indexed, metadataText } from './indexes.ts';
import { openShownDetails, type ShownDetails } from './opened-token.ts';
import { shownData, showToken } from './show-token.ts';

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
  let revealed = false;
  const tokens = records.flatMap((record) => {
    const details = openShownDetails(keyring, record.id, record);
    const transform = transformOf(caller, record, details);
    // A blind index is 16 bytes of a hash: the opened values have the last word.
    if (!transform || !hasMetadata(details.metadata?.text, query.metadata)) return [];
    revealed ||= transform === 'reveal';
    return [showToken(record, details, shownData(keyring, record.id, record, transform))];
  });
  caller.trail.shown(
    tokens.map(({ id }) => id),
    revealed,
  );
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
): Promise<PageOf<ShownToken>> {
  const { keyring } = caller.tenant;
  const records: ShownToken[] = [];
  let total = 0;
  for (let offset = 0; ; offset += SCANNED_AT_ONCE) {
    const found = await world.store.findTokens(filter, { offset, limit: SCANNED_AT_ONCE }, now);
    for (const record of found.records) {
      if (!transformOf(caller, record, openShownDetails(keyring, record.id, record))) continue;
      if (total >= page.offset && records.length < page.limit) records.push(record);
      total++;
    }
    if (found.records.length < SCANNED_AT_ONCE) return { records, total };
  }
}

function transformOf({ grants }: Caller, { id }: ShownToken, { containers }: ShownDetails) {
  return governingTransform(grants, 'token:read', { id, containers });
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

function hasMetadata(text = '{}', wanted?: Readonly<Record<string, string>>): boolean {
  if (wanted === undefined) return true;
  // Sealed by sealToken: these are strings.
  const found = parseJson(text) as Readonly<Record<string, string>>;
  return Object.entries(wanted).every(([key, value]) => {
    const text = Object.hasOwn(found, key) ? found[key] : undefined;
    return text !== undefined && foldCase(text) === foldCase(value);
  });
}
