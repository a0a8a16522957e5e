import type { Json, JsonObject } from '../../../contract/json.ts';
import { TOKEN_TYPES, type TokenType, type TokenTypeRow } from '../../../contract/token-types.ts';
import { Fault } from '../../../core/fault.ts';
import { memberNames, objectOfMembers } from '../../../core/json/member-names.ts';
import { memberLines, Problem } from '../../../core/problem.ts';
import { asObject } from '../../output/result-view.ts';
import { idsOf, type Planned, type SeedPlan, shownApp, shownToken } from './plan-seed.ts';
import { findTokens, type SeedCalls } from './seed-calls.ts';
import type { SeedDocument, SeedToken } from './seed-document.ts';
import { invalidSeed } from './seed-flaws.ts';
import { digest, digests, type KeptRecord, type RecordedItem, writeRecord } from './seed-record.ts';
import type { SeededRandom } from './seeded-random.ts';

/** So many tokens are under way at once: writes that arrive together share a commit. */
const AT_ONCE = 16;

interface Work {
  readonly document: SeedDocument;
  readonly plan: SeedPlan;
  readonly kept: KeptRecord;
  /** Of the claim that is held while this is done. */
  readonly claim: number;
  /** Calls with the management key. */
  readonly asked: SeedCalls;
  readonly calls: SeedCalls;
  readonly random: SeededRandom | undefined;
}

/** The applications of a seed by item, with the keys of those just made. */
export type MadeApps = Map<string, { readonly id: string; readonly key?: string }>;

/** Which random bytes an application is made of: its own, whatever else is in the seed. */
export const appLabel = ({ name }: SeedDocument, item: string): string => `apps\0${name}\0${item}`;

/** Does what a plan says of applications and tokens, and records it before and after. */
export async function carryOut(work: Work): Promise<MadeApps> {
  const { document, plan, kept, claim, asked, calls } = work;
  const { generatedFrom: number } = document;
  const apps = new Map(kept.record.apps);
  const tokens = new Map(kept.record.tokens);

  // First what is about to be made: after a kill it is still known whose it is.
  for (const { action, item, live } of plan.apps) {
    if (action !== 'unchanged') apps.set(item.item, { id: live === undefined ? undefined : String(live['id']) });
  }
  for (const { action, item } of plan.tokens) if (action !== 'unchanged') tokens.set(item.id, {});
  const begun = await writeRecord({ asked, calls }, document.name, kept, { apps, tokens, number, claim });

  const made = await makeApps(work, apps);
  await makeTokens(work, made, tokens).catch((error: unknown) => {
    throw work.random === undefined ? tellingOfKeys(error, made) : error;
  });
  for (const { kind, id: gone, item } of plan.removals) {
    await (kind === 'apps' ? asked('deleteApplication', { id: gone }) : calls('deleteToken', { id: gone }));
    (kind === 'apps' ? apps : tokens).delete(item);
  }
  await writeRecord({ asked, calls }, document.name, begun, { apps, tokens, number, claim });
  return made;
}

async function makeApps(
  { document, plan, asked, random }: Work,
  recorded: Map<string, RecordedItem>,
): Promise<MadeApps> {
  const made: MadeApps = new Map([...idsOf(plan.apps)].map(([item, id]) => [item, { id }]));
  const changed = plan.apps.filter(({ action }) => action !== 'unchanged');
  await eachItem(changed, 1, async ({ item, live }) => {
    const create = () => asked('createApplication', { body: item.body, place: item.place });
    const { type: _type, ...body } = item.body;
    const shown =
      live === undefined
        ? await (random?.during(appLabel(document, item.item), create) ?? create())
        : await asked('updateApplication', { id: String(live['id']), body, place: item.place });
    const own = { id: String(shown['id']), ...(typeof shown['key'] === 'string' && { key: shown['key'] }) };
    made.set(item.item, own);
    recorded.set(item.item, { id: own.id, ...digests(item.body, shownApp(shown)) });
  });
  return made;
}

async function makeTokens({ plan, calls }: Work, made: MadeApps, recorded: Map<string, RecordedItem>): Promise<void> {
  const appIds = new Map([...made].map(([item, one]) => [item, one.id]));
  const written = plan.tokens.filter(({ action }) => action !== 'unchanged');
  await eachItem(written, AT_ONCE, (planned) => writeToken(calls, planned, planned.item.body(appIds)));
  const found = await findTokens(
    calls,
    written.map(({ item }) => item.id),
  );
  for (const { item } of written) recorded.set(item.id, recordedToken(item, item.body(appIds), found.get(item.id)));
}

async function writeToken(calls: SeedCalls, { item, live }: Planned<SeedToken>, body: JsonObject): Promise<void> {
  const { place, id } = item;
  if (live !== undefined) {
    for (const patch of tokenPatches(live, body)) await calls('updateToken', { id, body: patch, place });
    return;
  }
  const created = await calls('createToken', { body, place }).catch(async (error: unknown) => {
    const isTaken = error instanceof Problem && error.code === 'token_id_taken';
    throw isTaken && !(await findTokens(calls, [id])).has(id) ? takenForever(item) : error;
  });
  if (created['id'] === id) return;
  throw new Problem('token_id_taken', {
    detail: `${place()}: the tenant deduplicates tokens, and ${String(created['id'])} has the same content.`,
  });
}

/** Decisions §5: the id of a deleted token stays taken; so does that of an expired one. */
function takenForever({ place, id, generated }: SeedToken): Fault {
  const other = generated ? 'give the item another name (its ids are NAME-1, NAME-2, …)' : 'give it another `id:`';
  return new Fault('conflict', `${place()}: the token ${id} was deleted or has expired, and its id stays taken`, {
    hint: `${other}; \`vault reset\` and \`vault snapshot load\` free the ids of deleted tokens`,
  });
}

/** A patch cannot put a null into an object (RFC 7396 §2). */
function recordedToken(item: SeedToken, wanted: JsonObject, found: JsonObject | undefined): RecordedItem {
  if (found === undefined) throw new Fault('conflict', `${item.place()}: the token was made, and is gone again`);
  if (digest(found['data'] ?? null) !== digest(wanted['data'] ?? null)) {
    const fact = 'a token that exists cannot be given a null inside an object';
    throw new Fault('invalid_data', `${item.place('data')}: ${fact}`, { hint: 'give it another id' });
  }
  return digests(wanted, shownToken(found));
}

/** Nobody is shown the keys of an apply that ends with an error. */
function tellingOfKeys(error: unknown, made: MadeApps): unknown {
  const lost = [...made].flatMap(([item, { id, key }]) => (key === undefined ? [] : [`${item} (${id})`]));
  if (!(error instanceof Fault) || error.hint !== undefined || lost.length === 0) return error;
  const { code, message, details } = error;
  const hint = `the rest is made; the keys of ${lost.join(', ')} are not shown again: \`vault apps regenerate ID\` makes others`;
  return new Fault(code, message, { details, hint });
}

/**
 * `work` for the items, `atOnce` of them at a time, begun in their order. What the vault refuses as invalid is collected, and
 * the others go on; after any other failure none is begun. Throws the other failure, else the fault `invalid_data` with all
 * that was refused.
 */
async function eachItem<T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<void>): Promise<void> {
  const refused = new Map<number, readonly string[]>();
  let next = 0;
  let failed = false;
  const worker = async (): Promise<void> => {
    while (next < items.length && !failed) {
      const at = next++;
      await work(items[at] as T).catch((error: unknown) => {
        const isInvalid = error instanceof Problem && error.code === 'invalid_request' && error.errors !== undefined;
        failed ||= !isInvalid;
        if (!isInvalid) throw error;
        refused.set(at, memberLines(error.errors));
      });
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: atOnce }, worker));
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
  const lines = [...refused].sort(([a], [b]) => a - b).flatMap(([, said]) => said);
  if (lines.length > 0) throw invalidSeed(lines);
}

/**
 * The merge patches (RFC 7396) that make of a token what a seed says, the type's defaults where it says nothing. Two,
 * because the mask that there is is not shown by a read, and has to go before another can come whole.
 */
function tokenPatches(live: JsonObject, wanted: JsonObject): readonly JsonObject[] {
  const row: TokenTypeRow = TOKEN_TYPES[wanted['type'] as TokenType];
  const mask = wanted['mask'] ?? row.mask ?? null;
  const members: JsonObject = {
    data: patchTo(live['data'], wanted['data'] ?? null),
    mask,
    metadata: patchTo(live['metadata'], wanted['metadata'] ?? null),
    containers: wanted['containers'] ?? null,
    search_indexes: wanted['search_indexes'] ?? row.search_indexes ?? null,
    fingerprint_expression: wanted['fingerprint_expression'] ?? null,
    expires_at: wanted['expires_at'] ?? null,
  };
  const deduplicate = wanted['deduplicate_token'];
  const patch = { ...members, ...(deduplicate !== undefined && { deduplicate_token: deduplicate }) };
  return mask === null ? [patch] : [{ mask: null }, patch];
}

/** What turns one value into the other: members that are no longer there are taken away by null. */
function patchTo(live: Json | undefined, wanted: Json): Json {
  const [from, to] = [asObject(live ?? null), asObject(wanted)];
  if (from === undefined || to === undefined) return wanted;
  const gone = memberNames(from).filter((name) => !Object.hasOwn(to, name));
  return objectOfMembers(
    new Map<string, Json>([
      ...memberNames(to).map((name) => [name, patchTo(from[name], to[name] ?? null)] as const),
      ...gone.map((name) => [name, null] as const),
    ]),
  );
}
