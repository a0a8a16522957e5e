import type { Client } from '../../../contract/call.ts';
import { generateApiKey } from '../../../core/applications/api-key.ts';
import { Fault } from '../../../core/fault.ts';
import { Problem } from '../../../core/problem.ts';
import { appLabel, carryOut, type MadeApps } from './carry-out.ts';
import { type Maker, planSeed, type SeedPlan } from './plan-seed.ts';
import { findSeedApplication, NO_RECORD, takeSeed } from './seed-application.ts';
import { seedCalls } from './seed-calls.ts';
import type { SeedDocument } from './seed-document.ts';
import type { SeededRandom } from './seeded-random.ts';

/** The application of a dry run before the first apply: sees which ids are taken. After a kill it expires within a minute. */
const READER = {
  name: 'vault seed apply --dry-run',
  type: 'expiring',
  rules: [
    {
      description: 'which ids are taken',
      priority: 1,
      conditions: [{ attribute: 'container', operator: 'starts_with', value: '/' }],
      transform: 'redact',
      permissions: ['token:read'],
    },
  ],
};

export interface ApplyOptions {
  /** Removes what an earlier apply made and the seed no longer names. */
  readonly prune?: boolean;
  /** Only plans. */
  readonly dryRun?: boolean;
  /** Overrides randomness of the vault behind the client: ids and keys of applications follow from the seed. */
  readonly random?: SeededRandom | undefined;
  /** Refuses to make applications: they must have ids and keys that this target cannot give them. */
  readonly noNewApps?: boolean;
}

export interface AppliedSeed {
  readonly seed: string;
  readonly plan: SeedPlan;
  /** Ids by item; a key where it is known: of those just made, and with a seeded random source of all. */
  readonly apps: ReadonlyMap<string, { readonly id: string; readonly key?: string | undefined }>;
}

/**
 * Makes the vault what the seed says, through either target. Throws problems and faults that name file, line and member, and
 * the fault `conflict` when another apply of this seed took over. The next apply goes on wherever one ended.
 */
export async function applySeed(
  client: Client,
  apiKey: string,
  document: SeedDocument,
  options: ApplyOptions = {},
): Promise<AppliedSeed> {
  const { dryRun = false, random } = options;
  const seed = document.name;
  const management = seedCalls(client, apiKey);
  const look = async (maker: Maker): Promise<SeedPlan> => {
    requireSameNumber(document, maker.record.number);
    const plan = await planSeed(document, maker, management, options.prune);
    if (options.noNewApps) refuseNewApps(plan);
    return plan;
  };
  if (dryRun && (await findSeedApplication(management, seed)) === undefined) {
    const { id, key } = await management('createApplication', { body: READER });
    const reader = { id: '', record: NO_RECORD, calls: seedCalls(client, String(key)) };
    const plan = await look(reader).finally(() => management('deleteApplication', { id: String(id) }));
    return { seed, plan, apps: new Map() };
  }
  const own = await takeSeed(client, management, seed);
  const made: MadeApps = new Map();
  for (;;) {
    const plan = await look(own);
    try {
      if (!dryRun) await carryOut({ document, plan, own, random, made });
      return { seed, plan, apps: await withKeys(client, document, own.record.apps, made, random) };
    } catch (error) {
      // An apply that lost its key meanwhile can finish its last call after this one looked: plan again.
      if (error instanceof Problem && error.code === 'token_id_taken') continue;
      throw random === undefined ? tellingOfKeys(error, made) : error;
    }
  }
}

function refuseNewApps({ apps }: SeedPlan): void {
  const items = apps.flatMap(({ action, item }) => (action === 'create' ? [item.item] : [])).join(', ');
  if (items === '') return;
  throw new Fault('usage', `--seed: a daemon gives new applications random ids and keys (${items})`, {
    hint: 'apply to the file (--file), or let the daemon apply it: `vault serve --dev --seed-file FILE --seed N`',
  });
}

/** Another number would make other data of everything that is generated: a flag that was left out is no such wish. */
function requireSameNumber({ generatedFrom }: SeedDocument, recorded: number | undefined): void {
  if (generatedFrom === undefined || recorded === undefined || generatedFrom === recorded) return;
  const fact = `the generated data of this seed is that of --seed ${recorded}, and not of ${generatedFrom}`;
  const hint = `give --seed ${recorded}; for other data, give what is generated another name in the file`;
  throw new Fault('usage', fact, { hint });
}

/** Adds to an error that the keys of new applications are lost with it. */
function tellingOfKeys(error: unknown, made: MadeApps): unknown {
  if (!(error instanceof Fault) || made.size === 0) return error;
  const { code, message, details, hint } = error;
  const names = [...made].map(([item, { id }]) => `${item} (${id})`).join(', ');
  const lost = `the keys of ${names} are not shown again: \`vault apps regenerate ID\` makes others`;
  return new Fault(code, message, { details, hint: hint === undefined ? lost : `${hint}; ${lost}` });
}

/** With a seeded random source the key of an application is known again, unless it was regenerated since. */
async function withKeys(
  client: Client,
  document: SeedDocument,
  ids: ReadonlyMap<string, string>,
  made: MadeApps,
  random: SeededRandom | undefined,
): Promise<AppliedSeed['apps']> {
  const all = new Map<string, { readonly id: string; readonly key?: string | undefined }>();
  for (const { item } of document.apps) {
    const id = ids.get(item);
    if (id === undefined) continue;
    const source = random?.at(appLabel(document, item));
    const known = source && generateApiKey({ ...source, timeOrderedId: source.id });
    const key = made.get(item)?.key ?? (known && (await isGood(client, known)) ? known : undefined);
    all.set(item, { id, ...(key !== undefined && { key }) });
  }
  return all;
}

async function isGood(client: Client, apiKey: string): Promise<boolean> {
  return (await client.call({ operation: 'listPermissions', apiKey, params: {}, query: [] })).status === 200;
}
