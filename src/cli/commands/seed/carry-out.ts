import type { JsonObject } from '../../../contract/json.ts';
import { Fault } from '../../../core/fault.ts';
import { stringifyJson } from '../../../core/json/stringify.ts';
import { memberLines, Problem } from '../../../core/problem.ts';
import { tokenPatches } from './patch-token.ts';
import { hiddenDigest, hiddenKey, type Planned, type SeedPlan } from './plan-seed.ts';
import { type SeedApplication, throwUnlessMismatch } from './seed-application.ts';
import { batchesOf, findTokens, itemsOf } from './seed-calls.ts';
import type { SeedDocument, SeedToken } from './seed-document.ts';
import { invalidSeed } from './seed-flaws.ts';
import type { SeededRandom } from './seeded-random.ts';

/** The maximum numbers of tokens and characters in a batch. The API accepts larger bodies. */
const BATCH_TOKENS = 200;
const BATCH_CHARACTERS = 256 * 1024;

/** The number of concurrent batches. The vault prepares one while it writes another. */
const BATCHES_AT_ONCE = 3;
/** The number of concurrent patches. Writes that arrive together share a commit. */
const PATCHES_AT_ONCE = 16;

/** The placeholder for the digest of an item while it changes. It is as long as one, so the record keeps its size. */
const UNKNOWN = '????????';

interface Work {
  readonly document: SeedDocument;
  readonly plan: SeedPlan;
  readonly own: SeedApplication;
  readonly random: SeededRandom | undefined;
  /** Collects the applications that this apply creates. */
  readonly made: MadeApps;
}

/** New applications by item. */
export type MadeApps = Map<string, { readonly id: string; readonly key: string }>;

/** Returns the label that determines an application's random bytes. It does not depend on the rest of the seed. */
export const appLabel = ({ name }: SeedDocument, item: string): string => `apps\0${name}\0${item}`;

/**
 * Carries out a plan. Keeps the seed's record up to date, so that the next apply can continue an interrupted one.
 * Rejects with `token_id_taken` when one of the tokens was created since the plan.
 */
export async function carryOut(work: Work): Promise<void> {
  const { document, plan, own } = work;
  const [apps, hidden] = [new Map(own.record.apps), new Map(own.record.hidden)];
  const write = () => own.write({ apps, hidden, number: document.generatedFrom });
  const planned = plan.tokens.filter(({ action }) => action !== 'unchanged');

  if (plan.tenant?.action === 'change') {
    await own.change('updateTenant', { body: plan.tenant.item, place: document.tenant?.place });
  }
  for (const [key, digest] of hiddenDigests(planned, apps)) {
    if (digest !== hidden.get(key)) hidden.set(key, UNKNOWN);
  }
  await write();
  await makeApps(work, apps, write);
  await makeTokens(planned, own, apps);
  for (const { kind, id, item } of plan.removals) {
    await (kind === 'apps' ? own.change('deleteApplication', { id }) : own.calls('deleteToken', { id }));
    if (kind === 'apps') apps.delete(item);
  }
  for (const [key, digest] of hiddenDigests(planned, apps)) {
    if (digest === undefined) hidden.delete(key);
    else hidden.set(key, digest);
  }
  await write();
}

const hiddenDigests = (planned: readonly Planned<SeedToken>[], appIds: ReadonlyMap<string, string>) =>
  new Map(planned.map(({ item }) => [hiddenKey(item), hiddenDigest(item.body(appIds))]));

async function makeApps(
  { document, plan, own, random, made }: Work,
  ids: Map<string, string>,
  write: () => Promise<void>,
): Promise<void> {
  const changed = plan.apps.filter(({ action }) => action !== 'unchanged');
  await eachItem(changed, 1, async ({ item: { item, body, place }, live }) => {
    if (live !== undefined) {
      const { type: _type, ...definition } = body;
      await own.change('updateApplication', { id: String(live['id']), body: definition, place });
      return;
    }
    const create = (idempotencyKey?: string) => own.change('createApplication', { body, place, idempotencyKey });
    // With this idempotency key, the call finds an application that a killed apply made but did not record.
    const first = () => create(`seed ${own.id} ${item} ${ids.get(item) ?? ''}`.trim());
    const make = async () => (await first().catch(throwUnlessMismatch)) ?? create();
    const shown = await (random?.during(appLabel(document, item), make) ?? make());
    const id = String(shown['id']);
    ids.set(item, id);
    made.set(item, { id, key: String(shown['key']) });
    await write();
  });
}

async function makeTokens(
  planned: readonly Planned<SeedToken>[],
  own: SeedApplication,
  appIds: ReadonlyMap<string, string>,
): Promise<void> {
  const made = planned
    .filter(({ action }) => action === 'create')
    .map(({ item }) => ({ item, body: item.body(appIds) }));
  const batches = batchesOf(made, BATCH_TOKENS, BATCH_CHARACTERS, ({ body }) => stringifyJson(body).length);
  await eachItem(batches, BATCHES_AT_ONCE, (batch) => createTokens(batch, own));
  const changed = planned.filter(({ action }) => action === 'change');
  await eachItem(changed, PATCHES_AT_ONCE, async ({ item, live = {} }) => {
    const { id, place } = item;
    const body = item.body(appIds);
    const isHiddenSame = hiddenDigest(body) === own.record.hidden.get(hiddenKey(item));
    for (const patch of tokenPatches(live, body, isHiddenSame)) {
      await own.calls('updateToken', { id, body: patch, place });
    }
  });
}

type NewToken = { readonly item: SeedToken; readonly body: JsonObject };

/** Creates all tokens of a batch or none. Rejects with `token_id_taken` when one of them already exists. */
async function createTokens(batch: readonly NewToken[], { calls }: SeedApplication): Promise<void> {
  const created = await calls('tokenize', { body: { data: batch.map(({ body }) => body) } }).catch(async (error) => {
    if (!(error instanceof Problem) || error.errors === undefined) throw error;
    const wrong = Object.entries(error.errors).map(([path, messages]) => {
      const [, at = '', ...member] = path.split('.');
      const item = batch[Number(at)]?.item;
      return { item, messages, path: item?.place(member.join('.')) ?? path };
    });
    if (error.code === 'token_id_taken') {
      const items = wrong.flatMap(({ item }) => item ?? []);
      const ids = items.map(({ id }) => id);
      const there = await findTokens(calls, ids);
      const gone = items.find(({ id }) => !there.has(id));
      if (gone !== undefined) throw takenForever(gone);
    }
    const errors = Object.fromEntries(wrong.map(({ path, messages }) => [path, messages]));
    throw new Problem(error.code, { detail: error.detail, errors });
  });
  for (const [at, { id }] of itemsOf(created).entries()) {
    const item = batch[at]?.item;
    if (item === undefined || item.id === id) continue;
    throw new Fault('conflict', `${item.place()}: the tenant deduplicates tokens, and ${id} has the same content`);
  }
}

/** Returns the fault for the id of a deleted or expired token. Such ids stay taken (decisions §5). */
function takenForever({ place, id, generated }: SeedToken): Fault {
  const other = generated ? 'give the item another name (its ids are NAME-1, NAME-2, …)' : 'give it another `id:`';
  return new Fault('conflict', `${place()}: the token ${id} was deleted or has expired, and its id stays taken`, {
    hint: `${other}; \`vault reset\` and \`vault snapshot load\` free the ids of deleted tokens`,
  });
}

/**
 * Runs `work` for the items in order, `atOnce` at a time. Collects the members that the vault rejects as invalid, and
 * stops at any other failure. Rejects with that failure, or with the fault `invalid_data`, which names all invalid
 * members.
 */
async function eachItem<T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<void>): Promise<void> {
  const lines: string[] = [];
  for (let at = 0; at < items.length; at += atOnce) {
    for (const ended of await Promise.allSettled(items.slice(at, at + atOnce).map(work))) {
      const error: unknown = ended.status === 'rejected' ? ended.reason : undefined;
      if (error instanceof Problem && error.code === 'invalid_request' && error.errors)
        lines.push(...memberLines(error.errors));
      else if (error !== undefined) throw error;
    }
  }
  if (lines.length > 0) throw invalidSeed(lines);
}
