import { createHash } from 'node:crypto';
import type { Json, JsonObject } from '../../contract/json.ts';
import { Fault } from '../../core/fault.ts';
import { memberNames, objectOfMembers } from '../../core/json/member-names.ts';
import { parseJson } from '../../core/json/parse.ts';
import { stringifyJson } from '../../core/json/stringify.ts';
import { asObject } from '../output/result-view.ts';
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
 * has changed (a read shows neither mask nor search indexes) and how --prune knows what is its own to remove.
 */
export interface SeedRecord {
  readonly apps: ReadonlyMap<string, RecordedItem>;
  readonly tokens: ReadonlyMap<string, RecordedItem>;
}

const CONTAINER = '/vault-seed/';
/** Metadata of the record: the name of its seed. */
const MARK = 'vault-seed';

/** A short digest of a value in which the order of members does not count. */
export function digest(value: Json): string {
  return createHash('sha256')
    .update(stringifyJson(sorted(value)))
    .digest('base64url')
    .slice(0, 16);
}

function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted);
  const object = asObject(value);
  if (object === undefined) return value;
  return objectOfMembers(new Map([...memberNames(object)].sort().map((name) => [name, sorted(object[name] ?? null)])));
}

export interface KeptRecord {
  /** Of the token that it is; undefined before the first apply. */
  readonly id: string | undefined;
  readonly record: SeedRecord;
}

/** Throws the fault `usage` when what looks like the record is not one. */
export async function readRecord(calls: SeedCalls, seed: string): Promise<KeptRecord> {
  const found = await listEvery(calls, 'listTokens', [
    ['type', 'token'],
    [`metadata.${MARK}`, seed],
  ]);
  // Metadata is compared without regard to case.
  const own = found.filter((token) => asObject(token['metadata'] ?? null)?.[MARK] === seed && isInPlace(token));
  if (own.length > 1)
    throw new Fault('usage', `two tokens in ${CONTAINER} say that they are the record of the seed ${seed}`);
  const [token] = own;
  if (token === undefined) return { id: undefined, record: { apps: new Map(), tokens: new Map() } };
  const content = typeof token['data'] === 'string' ? asObject(parseRecord(token['data'])) : undefined;
  if (content === undefined) throw new Fault('usage', `the token ${String(token['id'])} is not the record of a seed`);
  return { id: String(token['id']), record: { apps: itemsOf(content['apps']), tokens: itemsOf(content['tokens']) } };
}

function parseRecord(text: string): Json {
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}

function isInPlace(token: JsonObject): boolean {
  const containers = token['containers'];
  return Array.isArray(containers) && containers.length === 1 && containers[0] === CONTAINER;
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

/** Puts the record in the place of the former, and answers its id. It is text, because an object would be merged. */
export async function writeRecord(
  calls: SeedCalls,
  seed: string,
  id: string | undefined,
  { apps, tokens }: SeedRecord,
): Promise<string> {
  const words = (items: ReadonlyMap<string, RecordedItem>): Json =>
    objectOfMembers(
      new Map([...items].map(([name, one]) => [name, [one.id ?? '', one.wanted ?? '', one.shown ?? '']])),
    );
  const data = stringifyJson(
    objectOfMembers(
      new Map([
        ['apps', words(apps)],
        ['tokens', words(tokens)],
      ]),
    ),
  );
  if (id !== undefined) {
    await calls('updateToken', { id, body: { data } });
    return id;
  }
  const body = { type: 'token', data, containers: [CONTAINER], metadata: { [MARK]: seed }, deduplicate_token: false };
  return String((await calls('createToken', { body }))['id']);
}
