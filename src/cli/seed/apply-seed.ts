import type { Client } from '../../contract/call.ts';
import type { JsonObject } from '../../contract/json.ts';
import { generateApiKey } from '../../core/applications/api-key.ts';
import { Fault } from '../../core/fault.ts';
import { Problem } from '../../core/problem.ts';
import { idsOf, type Planned, planSeed, type SeedPlan, shownApp, shownToken } from './plan-seed.ts';
import { asApplicant } from './seed-applicant.ts';
import { findTokens, listEvery, type SeedCalls, seedCalls } from './seed-calls.ts';
import type { SeedDocument, SeedToken } from './seed-document.ts';
import { digest, type KeptRecord, type RecordedItem, readRecord, writeRecord } from './seed-record.ts';
import type { SeededRandom } from './seeded-random.ts';
import { tokenPatches } from './token-patch.ts';

/** So many tokens are under way at once: writes that arrive together share a commit. */
const AT_ONCE = 16;

export interface ApplyOptions {
  /** Removes what an earlier apply made and the seed no longer names. */
  readonly prune?: boolean;
  /** Only plans. */
  readonly dryRun?: boolean;
  /** Of the vault behind the client: makes ids and keys of applications follow from the seed. */
  readonly random?: SeededRandom | undefined;
  /** Refuses to make applications: they must have ids and keys that this door cannot give them. */
  readonly noNewApps?: boolean;
  /** Ends it in order: the call that is under way is the last. */
  readonly signal?: AbortSignal | undefined;
}

export interface AppliedSeed {
  readonly seed: string;
  readonly plan: SeedPlan;
  /** Ids by item; a key where it is known: of those just made, and with a seeded random source of all. */
  readonly apps: ReadonlyMap<string, { readonly id: string; readonly key?: string | undefined }>;
}

/** Makes the vault what the seed says, through either door. Throws problems and faults that name file, line and member. */
export async function applySeed(
  client: Client,
  apiKey: string,
  document: SeedDocument,
  options: ApplyOptions = {},
): Promise<AppliedSeed> {
  const { prune = false, dryRun = false, signal } = options;
  const management = seedCalls(client, apiKey);
  return asApplicant(client, management, dryRun ? 'read' : 'write', async (applicant) => {
    const [asked, calls] = [stoppable(management, signal), stoppable(applicant, signal)];
    const allApps = await listEvery(asked, 'listApplications');
    const kept = await readRecord(calls, document.name, allApps);
    requireSameNumber(document, kept.record.number);
    const ids = new Set([...document.tokens.map(({ id }) => id), ...kept.record.tokens.keys()]);
    const live = {
      tenant: document.tenant === undefined ? undefined : await asked('getTenant'),
      apps: allApps,
      tokens: await findTokens(calls, [...ids]),
    };
    const whole = planSeed(document, kept.record, live);
    const plan = prune ? whole : { ...whole, removals: [] };
    if (options.noNewApps && plan.apps.some(({ action }) => action === 'create')) refuseNewApps(plan);
    const apps = new Map([...idsOf(plan.apps)].map(([item, id]) => [item, { id }] as const));
    if (dryRun) return { seed: document.name, plan, apps };
    const made = await carryOut({ document, plan, kept, asked, calls, options });
    return { seed: document.name, plan, apps: await withKeys(client, document, made, options.random) };
  });
}

interface Work {
  readonly document: SeedDocument;
  readonly plan: SeedPlan;
  readonly kept: KeptRecord;
  readonly asked: SeedCalls;
  readonly calls: SeedCalls;
  readonly options: ApplyOptions;
}

type MadeApps = Map<string, { readonly id: string; readonly key?: string }>;

async function carryOut({ document, plan, kept, asked, calls, options }: Work): Promise<MadeApps> {
  const { generatedFrom: number } = document;
  const apps = new Map(kept.record.apps);
  const tokens = new Map(kept.record.tokens);
  const made: MadeApps = new Map([...idsOf(plan.apps)].map(([item, id]) => [item, { id }]));
  if (plan.tenant?.action === 'change') {
    const place = document.tenant?.place;
    await asked('updateTenant', { body: plan.tenant.item, place });
  }
  const changes = [...plan.apps, ...plan.tokens].filter(({ action }) => action !== 'unchanged');
  if (changes.length === 0 && plan.removals.length === 0) return made;

  // First what is about to be made: after a kill it is still known whose it is.
  for (const { action, item, live } of plan.apps) {
    if (action !== 'unchanged') apps.set(item.item, { id: live === undefined ? undefined : String(live['id']) });
  }
  for (const { action, item } of plan.tokens) if (action !== 'unchanged') tokens.set(item.id, {});
  const begun = await writeRecord({ asked, calls }, document.name, kept, { apps, tokens, number });

  for (const { action, item, live } of plan.apps) {
    if (action === 'unchanged') continue;
    const create = () => asked('createApplication', { body: item.body, place: item.place });
    const { type: _type, ...body } = item.body;
    const shown =
      live === undefined
        ? await (options.random?.during(labelOf(document, item.item), create) ?? create())
        : await asked('updateApplication', { id: String(live['id']), body, place: item.place });
    const own = { id: String(shown['id']), ...(typeof shown['key'] === 'string' && { key: shown['key'] }) };
    made.set(item.item, own);
    apps.set(item.item, { id: own.id, wanted: digest(item.body), shown: digest(shownApp(shown)) });
  }

  const appIds = new Map([...made].map(([item, one]) => [item, one.id]));
  const written = plan.tokens.filter(({ action }) => action !== 'unchanged');
  await inTurn(written, (planned) => writeToken(calls, planned, planned.item.body(appIds)));
  const found = await findTokens(
    calls,
    written.map(({ item }) => item.id),
  );
  for (const { item } of written) tokens.set(item.id, recordedToken(item, item.body(appIds), found.get(item.id)));

  for (const { kind, id: gone, item } of plan.removals) {
    await (kind === 'apps' ? asked('deleteApplication', { id: gone }) : calls('deleteToken', { id: gone }));
    (kind === 'apps' ? apps : tokens).delete(item);
  }
  await writeRecord({ asked, calls }, document.name, begun, { apps, tokens, number });
  return made;
}

async function writeToken(calls: SeedCalls, { item, live }: Planned<SeedToken>, body: JsonObject): Promise<void> {
  const { place, id } = item;
  if (live !== undefined) {
    for (const patch of tokenPatches(live, body)) await calls('updateToken', { id, body: patch, place });
    return;
  }
  const created = await calls('createToken', { body, place });
  if (created['id'] === id) return;
  throw new Problem('token_id_taken', {
    detail: `${place()}: the tenant deduplicates tokens, and ${String(created['id'])} has the same content.`,
  });
}

/** Another number would make other data of everything that is generated: a flag that was left out is no such wish. */
function requireSameNumber({ generatedFrom }: SeedDocument, recorded: number | undefined): void {
  if (generatedFrom === undefined || recorded === undefined || generatedFrom === recorded) return;
  throw new Fault(
    'usage',
    `the generated data of this seed is that of --seed ${recorded}, and not of ${generatedFrom}`,
    {
      hint: `give --seed ${recorded}; for other data, give what is generated another name in the file`,
    },
  );
}

/** A patch cannot put a null into an object (RFC 7396 §2). */
function recordedToken(item: SeedToken, wanted: JsonObject, found: JsonObject | undefined): RecordedItem {
  if (found === undefined) throw new Fault('usage', `${item.place()}: the token was made, and is gone again`);
  if (digest(found['data'] ?? null) !== digest(wanted['data'] ?? null)) {
    throw new Fault('usage', `${item.place('data')}: a token that exists cannot be given a null inside an object`, {
      hint: 'give it another id',
    });
  }
  return { wanted: digest(wanted), shown: digest(shownToken(found)) };
}

/** Which random bytes an application is made of: its own, whatever else is in the seed. */
const labelOf = ({ name }: SeedDocument, item: string): string => `apps\0${name}\0${item}`;

/** With a seeded random source the key of an application is known again, unless it was regenerated since. */
async function withKeys(
  client: Client,
  document: SeedDocument,
  made: MadeApps,
  random: SeededRandom | undefined,
): Promise<MadeApps> {
  if (random === undefined) return made;
  const all: MadeApps = new Map();
  for (const [item, one] of made) {
    const source = random.at(labelOf(document, item));
    const key = one.key ?? generateApiKey({ ...source, timeOrderedId: source.id });
    all.set(item, (await isKeyOf(client, key, one.id)) ? { ...one, key } : one);
  }
  return all;
}

async function isKeyOf(client: Client, key: string, id: string): Promise<boolean> {
  try {
    return (await seedCalls(client, key)('getApplicationByKey'))['id'] === id;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    // Who is told that it may not ask is somebody.
    return error.code === 'permission_missing';
  }
}

function stoppable(calls: SeedCalls, signal: AbortSignal | undefined): SeedCalls {
  return async (operation, parts) => {
    signal?.throwIfAborted();
    return calls(operation, parts);
  };
}

/** `AT_ONCE` of them at a time, begun in their order; after the first failure none is begun. */
async function inTurn<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  let failed = false;
  const worker = async (): Promise<void> => {
    for (let item = items[next++]; item !== undefined && !failed; item = items[next++]) {
      await work(item).catch((error: unknown) => {
        failed = true;
        throw error;
      });
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: AT_ONCE }, worker));
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
}

function refuseNewApps(plan: SeedPlan): never {
  const names = plan.apps.flatMap(({ action, item }) => (action === 'create' ? [item.item] : [])).join(', ');
  throw new Fault('usage', `--seed: a daemon gives new applications random ids and keys (${names})`, {
    hint: 'apply to the file (--file), or let the daemon apply it: `vault serve --dev --seed-file FILE --seed N`',
  });
}
