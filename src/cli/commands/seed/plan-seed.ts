import type { JsonObject } from '../../../contract/json.ts';
import { Fault } from '../../../core/fault.ts';
import { memberNames, objectOfMembers } from '../../../core/json/member-names.ts';
import { Problem } from '../../../core/problem.ts';
import type { SeedApp, SeedDocument, SeedToken } from './seed-document.ts';
import { digest, digests, type RecordedItem, type SeedRecord } from './seed-record.ts';

export type SeedAction = 'create' | 'change' | 'unchanged' | 'remove';

/** What is to be done to one item, and why. */
export interface Planned<Item> {
  readonly action: SeedAction;
  readonly item: Item;
  /** As the vault shows it; undefined when there is none. */
  readonly live: JsonObject | undefined;
  /** The members of which the file says something else than the vault shows. */
  readonly members: readonly string[];
}

export interface Removal {
  readonly kind: 'apps' | 'tokens';
  readonly item: string;
  readonly id: string;
}

/** What the vault has, as far as a seed is concerned. */
export interface LiveState {
  readonly tenant: JsonObject | undefined;
  readonly apps: readonly JsonObject[];
  readonly tokens: ReadonlyMap<string, JsonObject>;
}

export interface SeedPlan {
  readonly tenant: Planned<JsonObject> | undefined;
  readonly apps: readonly Planned<SeedApp>[];
  readonly tokens: readonly Planned<SeedToken>[];
  /** What the seed made before and no longer names. */
  readonly removals: readonly Removal[];
}

/** Compares a seed with what there is. Nothing that the seed did not make is ever part of a plan. */
export function planSeed(document: SeedDocument, record: SeedRecord, live: LiveState): SeedPlan {
  const apps = document.apps.map((app) => planApp(app, record, live.apps));
  const ids = idsOf(apps);
  const tokens = document.tokens.map((token) => planToken(token, ids, record, live.tokens.get(token.id)));
  const appItems = new Set(document.apps.map(({ item }) => item));
  const tokenIds = new Set(document.tokens.map(({ id }) => id));
  const goneTokens = [...record.tokens.keys()].filter((id) => !tokenIds.has(id) && live.tokens.has(id));
  const goneApps = [...record.apps].flatMap(([item, { id }]) =>
    !appItems.has(item) && live.apps.some((app) => app['id'] === id)
      ? [{ kind: 'apps', item, id: String(id) } as const]
      : [],
  );
  const removals = [...goneTokens.map((id) => ({ kind: 'tokens', item: id, id }) as const), ...goneApps];
  return { tenant: planTenant(document, live.tenant), apps, tokens, removals };
}

/** The ids of the applications that there are already. */
export function idsOf(apps: readonly Planned<SeedApp>[]): Map<string, string> {
  return new Map(apps.flatMap(({ item, live }) => (live === undefined ? [] : [[item.item, String(live['id'])]])));
}

function planTenant({ tenant }: SeedDocument, live: JsonObject | undefined): SeedPlan['tenant'] {
  if (tenant === undefined || live === undefined) return undefined;
  const name = tenant.body['name'] ?? live['name'] ?? '';
  const settings = { ...(live['settings'] as JsonObject), ...(tenant.body['settings'] as JsonObject | undefined) };
  const members = differing({ name, settings }, live);
  return { action: members.length === 0 ? 'unchanged' : 'change', item: { name, settings }, live, members };
}

function planApp(app: SeedApp, { apps }: SeedRecord, live: readonly JsonObject[]): Planned<SeedApp> {
  const recorded = apps.get(app.item);
  const found = recorded === undefined ? undefined : findApp(app, recorded, apps, live);
  if (found === undefined) return { action: 'create', item: app, live: undefined, members: [] };
  if (found['type'] !== app.body.type) {
    throw new Fault('conflict', `${app.place('type')}: an application keeps its type: give the item another name`);
  }
  return compared(app, recorded, found, app.body, shownApp(found));
}

/** Of one that was about to be made when its apply ended, the id is not known: it is the one that looks like it. */
function findApp(
  { body }: SeedApp,
  { id }: RecordedItem,
  recorded: SeedRecord['apps'],
  live: readonly JsonObject[],
): JsonObject | undefined {
  if (id !== undefined) return live.find((one) => one['id'] === id);
  const taken = new Set([...recorded.values()].map((one) => one.id));
  return live.find((one) => one['name'] === body.name && one['type'] === body.type && !taken.has(String(one['id'])));
}

function planToken(
  token: SeedToken,
  appIds: ReadonlyMap<string, string>,
  { tokens }: SeedRecord,
  live: JsonObject | undefined,
): Planned<SeedToken> {
  if (live === undefined) return { action: 'create', item: token, live, members: [] };
  const recorded = tokens.get(token.id);
  if (recorded === undefined) {
    throw new Problem('token_id_taken', {
      detail: `${token.place()}: a token with the id ${token.id} exists, and this seed did not make it.`,
    });
  }
  if (live['type'] !== token.type) {
    throw new Fault('conflict', `${token.place('type')}: a token keeps its type: give it another id`);
  }
  return compared(token, recorded, live, token.body(appIds), shownToken(live));
}

function compared<Item>(
  item: Item,
  recorded: RecordedItem | undefined,
  live: JsonObject,
  body: JsonObject,
  shownLive: JsonObject,
): Planned<Item> {
  const { wanted, shown } = digests(body, shownLive);
  const same = recorded?.wanted === wanted && recorded.shown === shown;
  return { action: same ? 'unchanged' : 'change', item, live, members: same ? [] : differing(body, live) };
}

function differing(wanted: JsonObject, live: JsonObject): readonly string[] {
  return memberNames(wanted).filter((name) => digest(wanted[name] ?? null) !== digest(live[name] ?? null));
}

/** What may not change behind a seed's back. */
export const shownApp = (app: JsonObject): JsonObject =>
  only(app, ['name', 'type', 'permissions', 'rules', 'can_create_expiring_applications']);
export const shownToken = (token: JsonObject): JsonObject =>
  only(token, ['id', 'type', 'data', 'containers', 'metadata', 'expires_at']);

function only(object: JsonObject, names: readonly string[]): JsonObject {
  return objectOfMembers(
    new Map(names.flatMap((name) => (Object.hasOwn(object, name) ? [[name, object[name] ?? null]] : []))),
  );
}
