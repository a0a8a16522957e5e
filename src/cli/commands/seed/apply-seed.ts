import type { Client } from '../../../contract/call.ts';
import type { Permission } from '../../../contract/permissions.ts';
import { generateApiKey } from '../../../core/applications/api-key.ts';
import { Fault } from '../../../core/fault.ts';
import { Problem } from '../../../core/problem.ts';
import { appLabel, carryOut, type MadeApps } from './carry-out.ts';
import { idsOf, planSeed, type SeedPlan } from './plan-seed.ts';
import { findTokens, listEvery, type SeedCalls, seedCalls } from './seed-calls.ts';
import { claimSeed } from './seed-claim.ts';
import type { SeedDocument } from './seed-document.ts';
import { type KeptRecord, readRecord } from './seed-record.ts';
import type { SeededRandom } from './seeded-random.ts';

const APPLICATION_NAME = 'vault seed apply (temporary)';
/** Nobody applies a seed for longer: one that is older was left by an apply that was killed. */
const LEFT_BEHIND_MS = 60 * 60 * 1000;

const RIGHTS: Readonly<Record<'read' | 'write', readonly Permission[]>> = {
  read: ['token:read'],
  write: ['token:create', 'token:read', 'token:update', 'token:delete'],
};

export interface ApplyOptions {
  /** Removes what an earlier apply made and the seed no longer names. */
  readonly prune?: boolean;
  /** Only plans. */
  readonly dryRun?: boolean;
  /** Of the vault behind the client: makes ids and keys of applications follow from the seed. */
  readonly random?: SeededRandom | undefined;
  /** Refuses to make applications: they must have ids and keys that this target cannot give them. */
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

/** What there is to do, by what there is. */
interface Seen {
  readonly kept: KeptRecord;
  readonly plan: SeedPlan;
}

/**
 * Makes the vault what the seed says, through either target. Throws problems and faults that name file, line and member, and
 * the fault `conflict` while another apply of this seed is under way.
 */
export async function applySeed(
  client: Client,
  apiKey: string,
  document: SeedDocument,
  options: ApplyOptions = {},
): Promise<AppliedSeed> {
  const { dryRun = false, signal } = options;
  const seed = document.name;
  const management = seedCalls(client, apiKey);
  return asSeedApplication(client, management, dryRun ? 'read' : 'write', async (applicant) => {
    const [asked, calls] = [stoppable(management, signal), stoppable(applicant, signal)];
    const look = () => lookAt(document, options, asked, calls);
    const first = dryRun ? await look() : await look().catch(undefinedIfTaken);
    if (dryRun && first !== undefined) return { seed, plan: first.plan, apps: madeOf(first.plan) };
    if (first !== undefined && !changesItems(first.plan)) {
      await updateTenant(asked, document, first.plan);
      return { seed, plan: first.plan, apps: await withKeys(client, document, madeOf(first.plan), options.random) };
    }
    // Without a preview, read only the record: it holds the number of the last claim.
    const before = first?.kept ?? (await readRecord(calls, seed, await listEvery(asked, 'listApplications')));
    const claim = await claimSeed(applicant, seed, before.record.claim);
    try {
      // Again: an apply that has just ended may have made what this one found missing.
      const { kept, plan } = await look();
      await updateTenant(asked, document, plan);
      const { random } = options;
      const made = changesItems(plan)
        ? await carryOut({ document, plan, kept, claim: claim.number, asked, calls, random })
        : madeOf(plan);
      return { seed, plan, apps: await withKeys(client, document, made, random) };
    } finally {
      await claim.release();
    }
  });
}

async function lookAt(
  document: SeedDocument,
  { prune = false, noNewApps = false }: ApplyOptions,
  asked: SeedCalls,
  calls: SeedCalls,
): Promise<Seen> {
  const apps = await listEvery(asked, 'listApplications');
  const kept = await readRecord(calls, document.name, apps);
  requireSameNumber(document, kept.record.number);
  const ids = new Set([...document.tokens.map(({ id }) => id), ...kept.record.tokens.keys()]);
  const live = {
    tenant: document.tenant === undefined ? undefined : await asked('getTenant'),
    apps,
    tokens: await findTokens(calls, [...ids]),
  };
  const whole = planSeed(document, kept.record, live);
  const plan = prune ? whole : { ...whole, removals: [] };
  const newApps = plan.apps.flatMap(({ action, item }) => (action === 'create' ? [item.item] : [])).join(', ');
  if (!noNewApps || newApps === '') return { kept, plan };
  throw new Fault('usage', `--seed: a daemon gives new applications random ids and keys (${newApps})`, {
    hint: 'apply to the file (--file), or let the daemon apply it: `vault serve --dev --seed-file FILE --seed N`',
  });
}

/** What is there and not this seed's may be what another apply of it is making: who holds the claim knows. */
function undefinedIfTaken(error: unknown): undefined {
  if (error instanceof Problem && error.code === 'token_id_taken') return undefined;
  throw error;
}

const changesItems = ({ apps, tokens, removals }: SeedPlan): boolean =>
  removals.length > 0 || [...apps, ...tokens].some(({ action }) => action !== 'unchanged');

const madeOf = ({ apps }: SeedPlan): MadeApps => new Map([...idsOf(apps)].map(([item, id]) => [item, { id }] as const));

async function updateTenant(asked: SeedCalls, document: SeedDocument, { tenant }: SeedPlan): Promise<void> {
  if (tenant?.action !== 'change') return;
  await asked('updateTenant', { body: tenant.item, place: document.tenant?.place });
}

/** Another number would make other data of everything that is generated: a flag that was left out is no such wish. */
function requireSameNumber({ generatedFrom }: SeedDocument, recorded: number | undefined): void {
  if (generatedFrom === undefined || recorded === undefined || generatedFrom === recorded) return;
  const fact = `the generated data of this seed is that of --seed ${recorded}, and not of ${generatedFrom}`;
  const hint = `give --seed ${recorded}; for other data, give what is generated another name in the file`;
  throw new Fault('usage', fact, { hint });
}

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
    const source = random.at(appLabel(document, item));
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

/**
 * Does `work` as a private application that lives only for it: whoever may manage applications has no right to tokens, and the
 * keys of the applications of an earlier apply are not known. Its own key never leaves this process.
 */
async function asSeedApplication<T>(
  client: Client,
  management: SeedCalls,
  rights: keyof typeof RIGHTS,
  work: (calls: SeedCalls) => Promise<T>,
): Promise<T> {
  await removeLeftBehind(management);
  const rule = {
    description: APPLICATION_NAME,
    priority: 1,
    container: '/',
    transform: 'reveal',
    permissions: RIGHTS[rights],
  };
  const made = await management('createApplication', {
    body: { name: APPLICATION_NAME, type: 'private', rules: [rule] },
  });
  try {
    return await work(seedCalls(client, String(made['key'])));
  } finally {
    await management('deleteApplication', { id: String(made['id']) });
  }
}

async function removeLeftBehind(management: SeedCalls): Promise<void> {
  for (const app of await listEvery(management, 'listApplications')) {
    const age = Date.now() - Date.parse(String(app['created_at']));
    if (app['name'] !== APPLICATION_NAME || app['type'] !== 'private' || age < LEFT_BEHIND_MS) continue;
    await management('deleteApplication', { id: String(app['id']) });
  }
}
