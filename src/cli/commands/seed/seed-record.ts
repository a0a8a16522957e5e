import { createHash } from 'node:crypto';
import type { Json, JsonObject } from '../../../contract/json.ts';
import { memberNames, objectOfMembers } from '../../../core/json/member-names.ts';
import { parseJson } from '../../../core/json/parse.ts';
import { stringifyJson } from '../../../core/json/stringify.ts';
import { asObject } from '../../output/result-view.ts';
import { listEvery, type SeedCalls } from './seed-calls.ts';

/** What is kept of one item that a seed made. */
export interface RecordedItem {
  /** Of an application; a token's is its name here. Absent: it was about to be made. */
  readonly id?: string | undefined;
  /** What the file said of it. Absent: it was about to be made or changed. */
  readonly wanted?: string | undefined;
  /** What the vault showed of it afterwards: a difference means that somebody else changed it. */
  readonly shown?: string | undefined;
}

/**
 * What a seed made, kept in the vault as a token of its own: sealed, and seen by no mask. It is how the next apply knows what
 * has changed (a read shows neither mask nor search indexes) and how --prune knows what is its own to remove. Anybody who
 * may create tokens could make one that looks like it, and so have a seed change what is not its own; so its digest stands
 * in an application, the keeper, which only a management key can make or change. A token without that digest is no record.
 */
export interface SeedRecord {
  readonly apps: ReadonlyMap<string, RecordedItem>;
  readonly tokens: ReadonlyMap<string, RecordedItem>;
  /** That generated data followed from; absent of a seed that generates none. */
  readonly number?: number | undefined;
  /** Of the claim of the last apply that changed something; 0 before the first. */
  readonly claim: number;
}

/** Where the tokens are that seeds are kept by. */
export const RECORD_CONTAINER = '/vault-seed/';
/** Metadata of the record: the name of its seed. */
const MARK = 'vault-seed';

/** A short digest of a value in which the order of members does not count. */
export function digest(value: Json): string {
  return createHash('sha256')
    .update(stringifyJson(sorted(value)))
    .digest('base64url')
    .slice(0, 16);
}

/** Stored for each item: digests of the file's values and of the vault's values. */
export const digests = (wanted: Json, shown: Json) => ({ wanted: digest(wanted), shown: digest(shown) });

function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted);
  const object = asObject(value);
  if (object === undefined) return value;
  return objectOfMembers(new Map([...memberNames(object)].sort().map((name) => [name, sorted(object[name] ?? null)])));
}

export interface KeptRecord {
  /** Of the token that it is; undefined before the first apply. */
  readonly id: string | undefined;
  readonly keeper: Keeper | undefined;
  readonly record: SeedRecord;
}

interface Keeper {
  readonly id: string;
  /** Of the record as it is and, while it is being written, as it will be. */
  readonly digests: readonly string[];
}

const NOTHING: SeedRecord = { apps: new Map(), tokens: new Map(), claim: 0 };

/** `apps` are all applications of the tenant. */
export async function readRecord(calls: SeedCalls, seed: string, apps: readonly JsonObject[]): Promise<KeptRecord> {
  const keeper = keeperOf(seed, apps);
  if (keeper === undefined) return { id: undefined, keeper, record: NOTHING };
  const found = await listEvery(calls, 'listTokens', [
    ['type', 'token'],
    [`metadata.${MARK}`, seed],
  ]);
  // Metadata is compared without regard to case.
  const marked = found.filter((token) => asObject(token['metadata'] ?? null)?.[MARK] === seed && isInPlace(token));
  for (const { id, data } of marked) {
    if (typeof data !== 'string' || !keeper.digests.includes(digestOfText(data))) continue;
    const content = asObject(parseRecord(data)) ?? {};
    const [number, claim = 0] = [numberOf(content['number']), numberOf(content['claim'])];
    const record = { apps: itemsOf(content['apps']), tokens: itemsOf(content['tokens']), number, claim };
    return { id: String(id), keeper, record };
  }
  return { id: undefined, keeper, record: NOTHING };
}

const keeperName = (seed: string): string => `vault seed: ${seed}`;

function keeperOf(seed: string, apps: readonly JsonObject[]): Keeper | undefined {
  // No management key made an expiring one: those are for applications of less right, too.
  const app = apps.find(({ name, type }) => name === keeperName(seed) && type === 'private');
  if (app === undefined) return undefined;
  const [rule] = Array.isArray(app['rules']) ? app['rules'] : [];
  const description = asObject(rule ?? null)?.['description'];
  return { id: String(app['id']), digests: typeof description === 'string' ? description.split(' ') : [] };
}

/** Its key is thrown away, and could see nothing. */
function keeperBody(seed: string, digests: readonly string[]): JsonObject {
  const rule = { description: digests.join(' '), priority: 1, container: RECORD_CONTAINER, transform: 'redact' };
  return { name: keeperName(seed), rules: [{ ...rule, permissions: ['token:read'] }] };
}

function digestOfText(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

function parseRecord(text: string): Json {
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}

/** Whether a token is in the container of the records and claims, and in no other. */
export function isInPlace(token: JsonObject): boolean {
  const containers = token['containers'];
  return Array.isArray(containers) && containers.length === 1 && containers[0] === RECORD_CONTAINER;
}

/** `[id, wanted, shown]`, empty where there is none: ten thousand of them go into one request. */
function itemsOf(value: Json | undefined): ReadonlyMap<string, RecordedItem> {
  const object = asObject(value ?? null) ?? {};
  return new Map(
    memberNames(object).map((name) => {
      const words = object[name];
      const [id, wanted, shown] = (Array.isArray(words) ? words : []).map((word) =>
        word === '' ? undefined : String(word),
      );
      return [name, { id, wanted, shown }];
    }),
  );
}

/**
 * Puts the record in the place of the former. It is text, because an object would be merged. Whenever it is stopped, the
 * keeper has the digest of the record that there is. `asked` are calls with the management key.
 */
export async function writeRecord(
  { asked, calls }: { readonly asked: SeedCalls; readonly calls: SeedCalls },
  seed: string,
  kept: KeptRecord,
  record: SeedRecord,
): Promise<KeptRecord> {
  const data = recordText(record);
  const next = digestOfText(data);
  const before = kept.id === undefined ? [] : (kept.keeper?.digests ?? []);
  const body = keeperBody(seed, [...before, next]);
  const keeper =
    kept.keeper === undefined
      ? await asked('createApplication', { body: { ...body, type: 'private' } })
      : await asked('updateApplication', { id: kept.keeper.id, body });
  const own = { type: 'token', containers: [RECORD_CONTAINER], metadata: { [MARK]: seed }, deduplicate_token: false };
  const token =
    kept.id === undefined
      ? await calls('createToken', { body: { ...own, data } })
      : await calls('updateToken', { id: kept.id, body: { data } });
  const keeperId = String(keeper['id']);
  if (before.length > 0) await asked('updateApplication', { id: keeperId, body: keeperBody(seed, [next]) });
  return { id: kept.id ?? String(token['id']), keeper: { id: keeperId, digests: [next] }, record };
}

function numberOf(written: Json | undefined): number | undefined {
  return written === undefined ? undefined : Number(String(written));
}

function recordText({ apps, tokens, number, claim }: SeedRecord): string {
  const words = (items: ReadonlyMap<string, RecordedItem>): Json =>
    objectOfMembers(
      new Map([...items].map(([name, one]) => [name, [one.id ?? '', one.wanted ?? '', one.shown ?? '']])),
    );
  return stringifyJson({
    apps: words(apps),
    tokens: words(tokens),
    ...(number !== undefined && { number: String(number) }),
    claim: String(claim),
  });
}
