import type { JsonObject } from '../../../contract/json.ts';
import { Fault } from '../../../core/fault.ts';
import { stringifyJson } from '../../../core/json/stringify.ts';
import { memberLines, Problem } from '../../../core/problem.ts';
import { tokenPatches } from './patch-token.ts';
import { hiddenDigest, hiddenKey, idsOf, type Planned, type SeedPlan } from './plan-seed.ts';
import { type SeedApplication, throwUnlessMismatch } from './seed-application.ts';
import { batchesOf, findTokens, itemsOf } from './seed-calls.ts';
import type { SeedDocument, SeedToken } from './seed-document.ts';
import { invalidSeed } from './seed-flaws.ts';
import type { SeededRandom } from './seeded-random.ts';

/** Tokens that are created together, and their characters: fewer than a body may have. */
const BATCH_TOKENS = 200;
const BATCH_CHARACTERS = 256 * 1024;

/** How many batches are under way at once: the next is made while one is written. */
const BATCHES_AT_ONCE = 3;
/** How many patches: writes that arrive together share a commit. */
const PATCHES_AT_ONCE = 16;

/** The digest of what is being changed; as long as another, so that the record has room for that. */
const UNKNOWN = '????????';

interface Work {
  readonly document: SeedDocument;
  readonly plan: SeedPlan;
  readonly own: SeedApplication;
  readonly random: SeededRandom | undefined;
  /** Added to. */
  readonly made: MadeApps;
}

/** The applications that this apply has made, by item. */
export type MadeApps = Map<string, { readonly id: string; readonly key: string }>;

/** Which random bytes an application is made of: its own, whatever else is in the seed. */
export const appLabel = ({ name }: SeedDocument, item: string): string => `apps\0${name}\0${item}`;

/**
 * Does what a plan says, and resolves to the ids of the applications by item. Each step leaves a record from which the next
 * apply goes on. Throws `token_id_taken` when a token was made since the plan.
 */
export async function carryOut(work: Work): Promise<ReadonlyMap<string, string>> {
  const { document, plan, own } = work;
  const [apps, hidden] = [new Map(own.record.apps), new Map(own.record.hidden)];
  const write = () => own.write({ apps, hidden, number: document.generatedFrom });
  const planned = plan.tokens.filter(({ action }) => action !== 'unchanged');

  if (plan.tenant?.action === 'change') {
    await own.change('updateTenant', { body: plan.tenant.item, place: document.tenant?.place });
  }
  for (const [key, digest] of hiddenDigests(planned, idsOf(plan.apps))) {
    if (digest !== hidden.get(key)) hidden.set(key, UNKNOWN);
  }
  await write();
  const ids = await makeApps(work, apps, write);
  await makeTokens(planned, own, ids);
  for (const { kind, id, item } of plan.removals) {
    await (kind === 'apps' ? own.change('deleteApplication', { id }) : own.calls('deleteToken', { id }));
    if (kind === 'apps') apps.delete(item);
  }
  for (const [key, digest] of hiddenDigests(planned, ids)) {
    if (digest === undefined) hidden.delete(key);
    else hidden.set(key, digest);
  }
  await write();
  return ids;
}

const hiddenDigests = (planned: readonly Planned<SeedToken>[], appIds: ReadonlyMap<string, string>) =>
  new Map(planned.map(({ item }) => [hiddenKey(item), hiddenDigest(item.body(appIds))]));

async function makeApps(
  { document, plan, own, random, made }: Work,
  recorded: Map<string, string>,
  write: () => Promise<void>,
): Promise<ReadonlyMap<string, string>> {
  const ids = idsOf(plan.apps);
  const changed = plan.apps.filter(({ action }) => action !== 'unchanged');
  await eachItem(changed, 1, async ({ item: { item, body, place }, live }) => {
    if (live !== undefined) {
      const { type: _type, ...definition } = body;
      await own.change('updateApplication', { id: String(live['id']), body: definition, place });
      return;
    }
    const create = (idempotencyKey?: string) => own.change('createApplication', { body, place, idempotencyKey });
    // After a kill before it was recorded, or beside another apply, the same request finds the same application.
    const first = () => create(`seed ${own.id} ${item} ${recorded.get(item) ?? ''}`.trim());
    const make = async () => (await first().catch(throwUnlessMismatch)) ?? create();
    const shown = await (random?.during(appLabel(document, item), make) ?? make());
    const id = String(shown['id']);
    ids.set(item, id);
    made.set(item, { id, key: String(shown['key']) });
    recorded.set(item, id);
    await write();
  });
  return ids;
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

/** Makes all of them or none. Throws `token_id_taken` when there are tokens of these ids by now. */
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

/** Decisions §5: the id of a deleted token stays taken; so does that of an expired one. */
function takenForever({ place, id, generated }: SeedToken): Fault {
  const other = generated ? 'give the item another name (its ids are NAME-1, NAME-2, …)' : 'give it another `id:`';
  return new Fault('conflict', `${place()}: the token ${id} was deleted or has expired, and its id stays taken`, {
    hint: `${other}; \`vault reset\` and \`vault snapshot load\` free the ids of deleted tokens`,
  });
}

/**
 * Does `work` for the items in their order, `atOnce` of them at a time. Collects what the vault refuses as invalid; any other
 * failure ends it. Throws the other failure, else the fault `invalid_data` with all that was refused.
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
