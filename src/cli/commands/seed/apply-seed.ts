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

/**
 * A temporary application for a dry run before the first apply. The dry run uses its key to check which ids are taken.
 * If the process is killed, the application expires within a minute.
 */
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
  /** Removes items that an earlier apply made and the seed no longer names. */
  readonly prune?: boolean;
  /** Returns the plan without carrying it out. */
  readonly dryRun?: boolean;
  /** Overrides the vault's randomness, so that application ids and keys follow from the seed. */
  readonly random?: SeededRandom | undefined;
  /** Rejects new applications, because the target (a daemon) cannot give them seeded ids and keys. */
  readonly noNewApps?: boolean;
}

export interface AppliedSeed {
  readonly seed: string;
  readonly plan: SeedPlan;
  /** Ids and known keys by item. Only new applications have a known key, unless a seeded source reproduces it. */
  readonly apps: ReadonlyMap<string, { readonly id: string; readonly key?: string | undefined }>;
}

/**
 * Changes the vault to match the seed, in a file or through a daemon. Resolves to the plan and the applications.
 * Rejects with problems and faults that name file, line and member, and with the fault `conflict` when another apply of
 * the same seed takes over. The next apply continues an interrupted one.
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
      // Plan again: an earlier apply, whose last call ended after this plan, may have created the token.
      if (error instanceof Problem && error.code === 'token_id_taken') continue;
      throw random === undefined ? withKeyHint(error, made) : error;
    }
  }
}

function refuseNewApps({ apps }: SeedPlan): void {
  const items = apps.flatMap(({ action, item }) => (action === 'create' ? [item.item] : [])).join(', ');
  if (items === '') return;
  throw new Fault('usage', `--seed: a daemon gives new applications random ids and keys (${items})`, {
    hint: 'apply the seed to the file (--file), or start the daemon with it: `vault serve --dev --seed-file FILE --seed N`',
  });
}

/** Throws the fault `usage` for another seed number than that of the last apply: all generated data would change. */
function requireSameNumber({ generatedFrom }: SeedDocument, recorded: number | undefined): void {
  if (generatedFrom === undefined || recorded === undefined || generatedFrom === recorded) return;
  const fact = `this seed was applied with --seed ${recorded}, not with --seed ${generatedFrom}`;
  const hint = `pass --seed ${recorded}, or rename the generated items in the file to get other data`;
  throw new Fault('usage', fact, { hint });
}

/** Returns the error with a hint that names the new applications whose keys are lost. */
function withKeyHint(error: unknown, made: MadeApps): unknown {
  if (!(error instanceof Fault) || made.size === 0) return error;
  const { code, message, details, hint } = error;
  const names = [...made].map(([item, { id }]) => `${item} (${id})`).join(', ');
  const lost = `regenerate the lost keys of ${names} with \`vault apps regenerate ID\``;
  return new Fault(code, message, { details, hint: hint === undefined ? lost : `${hint}; ${lost}` });
}

/**
 * Resolves to the ids and known keys of the applications, by item. A seeded random source reproduces the key of an
 * application, unless the key was regenerated since.
 */
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
