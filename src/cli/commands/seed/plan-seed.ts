import { createHash } from 'node:crypto';
import type { Json, JsonObject } from '../../../contract/json.ts';
import { TOKEN_TYPES, type TokenType } from '../../../contract/token-types.ts';
import { Fault } from '../../../core/fault.ts';
import { canonicalJson, isSameJson } from '../../../core/json/canonical-json.ts';
import { memberNames } from '../../../core/json/member-names.ts';
import { Problem } from '../../../core/problem.ts';
import { normalizeContainer, normalizeContainers } from '../../../core/tokens/containers.ts';
import { parseExpiresAt } from '../../../core/tokens/expires-at.ts';
import { applyMergePatch } from '../../../core/tokens/merge-patch.ts';
import { asObject } from '../../output/result-view.ts';
import { patchTo } from './patch-token.ts';
import type { SeedApplication } from './seed-application.ts';
import { findMadeBy, findTokens, listApplications, type SeedCalls } from './seed-calls.ts';
import type { SeedApp, SeedDocument, SeedToken } from './seed-document.ts';

export type SeedAction = 'create' | 'change' | 'unchanged' | 'remove';

/** The change planned for one item, and the reason. */
export interface Planned<Item> {
  readonly action: SeedAction;
  readonly item: Item;
  /** The item as the vault returns it; undefined when it does not exist. */
  readonly live: JsonObject | undefined;
  /** The members that differ between the file and the vault. */
  readonly members: readonly string[];
}

export interface SeedPlan {
  readonly tenant: Planned<JsonObject> | undefined;
  readonly apps: readonly Planned<SeedApp>[];
  readonly tokens: readonly Planned<SeedToken>[];
  /** Items that an earlier apply made and the seed no longer names. */
  readonly removals: readonly { readonly kind: 'apps' | 'tokens'; readonly item: string; readonly id: string }[];
}

/** The application of the seed; its id is empty before the first apply. */
export type Maker = Pick<SeedApplication, 'id' | 'record' | 'calls'>;

/** Compares a seed with the vault. Resolves to the changes, which never affect records that the seed did not make. */
export async function planSeed(
  document: SeedDocument,
  maker: Maker,
  management: SeedCalls,
  prune = false,
): Promise<SeedPlan> {
  const live = await listApplications(management);
  const recorded = maker.record.apps;
  const apps = document.apps.map((app) => planApp(app, recorded.get(app.item), live));
  const appIds = new Map(apps.flatMap(({ item, live }) => (live ? [[item.item, String(live['id'])]] : [])));
  const ids = document.tokens.map(({ id }) => id);
  const found = await findTokens(maker.calls, ids);
  const tokens = document.tokens.map((token) => planToken(token, appIds, maker, found.get(token.id)));
  const tenant = document.tenant && planTenant(document.tenant.body, await management('getTenant'));
  if (!prune) return { tenant, apps, tokens, removals: [] };
  const [named, items] = [new Set(ids), new Set(apps.map(({ item }) => item.item))];
  const made = maker.id === '' ? [] : await findMadeBy(maker.calls, maker.id);
  const gone = made.filter((id) => !named.has(id)).map((id) => ({ kind: 'tokens', item: id, id }) as const);
  const goneApps = [...recorded].flatMap(([item, id]) =>
    !items.has(item) && live.some((app) => app['id'] === id) ? [{ kind: 'apps', item, id } as const] : [],
  );
  return { tenant, apps, tokens, removals: [...gone, ...goneApps] };
}

function planTenant(body: JsonObject, live: JsonObject): Planned<JsonObject> {
  const name = body['name'] ?? live['name'] ?? '';
  const settings = { ...(live['settings'] as JsonObject), ...(body['settings'] as JsonObject | undefined) };
  return compared({ name, settings }, live, differing({ name, settings }, live));
}

function planApp(app: SeedApp, id: string | undefined, apps: readonly JsonObject[]): Planned<SeedApp> {
  const live = id === undefined ? undefined : apps.find((one) => one['id'] === id);
  if (live === undefined) return { action: 'create', item: app, live, members: [] };
  if (live['type'] !== app.body.type) {
    throw new Fault(
      'conflict',
      `${app.place('type')}: the type of an application cannot change; give the item another name`,
    );
  }
  return compared(app, live, differing(normalizedApp(app.body), normalizedApp(live)));
}

const compared = <Item>(item: Item, live: JsonObject, members: readonly string[]): Planned<Item> => {
  return { action: members.length === 0 ? 'unchanged' : 'change', item, live, members };
};

function planToken(
  item: SeedToken,
  appIds: ReadonlyMap<string, string>,
  { id, record }: Maker,
  live: JsonObject | undefined,
): Planned<SeedToken> {
  if (live === undefined) return { action: 'create', item, live, members: [] };
  if (live['created_by'] !== id) {
    throw new Problem('token_id_taken', {
      detail: `${item.place()}: a token with the id ${item.id} exists, and this seed did not create it.`,
    });
  }
  if (live['type'] !== item.type) {
    throw new Fault('conflict', `${item.place('type')}: the type of a token cannot change; give the token another id`);
  }
  const body = item.body(appIds);
  const data = body['data'] ?? null;
  if (!isSameJson(applyMergePatch(live['data'], patchTo(live['data'], data)), data)) {
    // In a merge patch null removes a member (RFC 7396 §2).
    const fact = 'an update cannot set null inside an object';
    throw new Fault('invalid_data', `${item.place('data')}: ${fact}`, { hint: 'give it another id' });
  }
  const visible = differing(normalizedToken(body), normalizedToken(live));
  const isHiddenSame = hiddenDigest(body) === record.hidden.get(hiddenKey(item));
  const hidden = isHiddenSame ? [] : HIDDEN.filter((name) => body[name] != null);
  const action = visible.length === 0 && isHiddenSame ? 'unchanged' : 'change';
  return { action, item, live, members: [...visible, ...hidden] };
}

/** The members of a token that the API never returns. */
const HIDDEN: readonly string[] = ['mask', 'search_indexes', 'fingerprint_expression'];

/** Returns the digest of the hidden members, which all tokens of an item share; undefined when the file has none. */
export function hiddenDigest(body: JsonObject): string | undefined {
  const given = HIDDEN.flatMap((name) => (body[name] == null ? [] : [[name, body[name]]]));
  return given.length === 0 ? undefined : digest(Object.fromEntries(given));
}

export const hiddenKey = ({ firstId }: SeedToken): string => digest(firstId);

const digest = (value: Json): string =>
  createHash('sha256').update(canonicalJson(value)).digest('base64url').slice(0, 8);

function differing(wanted: JsonObject, live: JsonObject): readonly string[] {
  return memberNames(wanted).filter((name) => !isSameJson(wanted[name] ?? null, live[name] ?? null));
}

/** Returns the members of an application to compare, in the same form for a seed file and for a reply of the API. */
function normalizedApp({ name, permissions, rules, can_create_expiring_applications }: JsonObject): JsonObject {
  return {
    name: name ?? null,
    permissions: permissions ?? [],
    rules: (Array.isArray(rules) ? rules : []).map(normalizedRule),
    can_create_expiring_applications: can_create_expiring_applications ?? false,
  };
}

function normalizedRule(rule: Json): Json {
  const members = asObject(rule) ?? {};
  return { ...members, container: normalizeContainer(String(members['container'])) };
}

function normalizedToken({ type, data, containers, metadata, expires_at }: JsonObject): JsonObject {
  const written = (containers ?? [TOKEN_TYPES[type as TokenType].container]) as readonly string[];
  return {
    data: data ?? null,
    containers: normalizeContainers(written),
    metadata: metadata ?? {},
    expires_at: typeof expires_at === 'string' ? parseExpiresAt(expires_at, -Infinity).text : null,
  };
}
