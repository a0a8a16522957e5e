import type { Client } from '../../../contract/call.ts';
import type { JsonObject } from '../../../contract/json.ts';
import { generateApiKey } from '../../../core/applications/api-key.ts';
import { Fault } from '../../../core/fault.ts';
import type { Random } from '../../../core/ports.ts';
import { Problem } from '../../../core/problem.ts';
import { type ComparedApp, compareApp, listSeedApps, putApp, tokenAppOf } from './apply-apps.ts';
import { applyTokens } from './apply-tokens.ts';
import { compareItem, type SeedChange } from './compare-item.ts';
import { eachItem, type SeedCalls, seedCalls } from './seed-calls.ts';
import type { SeedDocument } from './seed-document.ts';
import type { SeededRandom } from './seeded-random.ts';

const ROOT = { attribute: 'container', operator: 'starts_with', value: '/' };
const READING = { priority: 1, conditions: [ROOT], transform: 'reveal', permissions: ['token:read'] };
/** The application whose key reads the tokens in a dry run. If the process is killed, it expires within a minute. */
const READER = {
  name: 'vault seed apply --dry-run',
  type: 'expiring',
  rules: [{ description: 'compare tokens', ...READING }],
};

export interface ApplyOptions {
  /** Compares without changing anything. */
  readonly dryRun?: boolean;
  /** Overrides the vault's randomness, so that application ids and keys follow from the seed. */
  readonly random?: SeededRandom | undefined;
  /** Rejects new applications, because the target (a daemon) cannot give them seeded ids and keys. */
  readonly noNewApps?: boolean;
}

export interface AppliedSeed {
  readonly seed: string;
  readonly changes: readonly SeedChange[];
  /** Ids and known keys by item. Only new applications have a known key, unless a seeded source reproduces it. */
  readonly apps: SeededApps;
}

type SeededApps = ReadonlyMap<string, { readonly id: string; readonly key?: string | undefined }>;

/**
 * Creates the items of the seed that are missing and changes those that differ, in a file or through a daemon. Finds
 * applications by name and tokens by id. Creates applications before the tokens, which may refer to them. Rejects with
 * problems and faults that name file, line and member.
 */
export async function applySeed(
  client: Client,
  apiKey: string,
  document: SeedDocument,
  { dryRun = false, random, noNewApps = false }: ApplyOptions = {},
): Promise<AppliedSeed> {
  const calls = seedCalls(client, apiKey);
  const all = await listSeedApps(calls);
  const compared = document.apps.map((app) => compareApp(app, all));
  const tokenApp = compareApp(tokenAppOf(document), all);
  if (noNewApps) refuseNewApps(compared);
  const tenant = await applyTenant(document.tenant, calls, dryRun);
  const apps = new Map<string, { readonly id: string; readonly key?: string | undefined }>();
  try {
    await eachItem(compared, 1, async (one) => {
      const { item } = one.app;
      const label = `apps\0${document.name}\0${item}`;
      const app = dryRun ? one.live : await putApp(one, calls, random, label);
      if (app === undefined) return;
      const id = String(app['id']);
      apps.set(item, {
        id,
        key: (app['key'] as string | undefined) ?? (random && (await knownKey(client, id, random.at(label)))),
      });
    });
    const appIds = new Map([...apps].map(([item, { id }]) => [item, id]));
    const work = (own: SeedCalls) => applyTokens(document.tokens, own, appIds, dryRun);
    const tokens = document.tokens.length === 0 ? [] : await withTokenKey(client, calls, tokenApp, dryRun, work);
    return { seed: document.name, changes: [...tenant, ...compared.map(({ change }) => change), ...tokens], apps };
  } catch (error) {
    throw random === undefined ? withKeyHint(error, apps) : error;
  }
}

async function applyTenant(
  tenant: SeedDocument['tenant'],
  calls: SeedCalls,
  dryRun: boolean,
): Promise<readonly SeedChange[]> {
  if (tenant === undefined) return [];
  const live = await calls('getTenant');
  const settings = { ...(live['settings'] as JsonObject), ...(tenant.body['settings'] as JsonObject | undefined) };
  const body = { name: tenant.body['name'] ?? live['name'] ?? '', settings };
  const change = compareItem('tenant', body, live);
  if (change.action === 'change' && !dryRun) await calls('updateTenant', { body, position: tenant.position });
  return [change];
}

/**
 * Runs `work` with a new key of the seed's application, which ends an earlier apply of the seed that still runs. In a
 * dry run, uses the key of a temporary application that can only read.
 */
async function withTokenKey<T>(
  client: Client,
  management: SeedCalls,
  tokenApp: ComparedApp,
  dryRun: boolean,
  work: (calls: SeedCalls) => Promise<T>,
): Promise<T> {
  const app = dryRun ? await management('createApplication', { body: READER }) : await putApp(tokenApp, management);
  const id = String(app['id']);
  const key = app['key'] ?? (await management('regenerateApplicationKey', { id }))['key'];
  try {
    return await work(seedCalls(client, String(key)));
  } catch (error) {
    if (dryRun || !(error instanceof Problem) || error.code !== 'unauthenticated') throw error;
    throw new Fault('apply_ended', `another apply regenerated the key of the application ${tokenApp.app.body.name}`);
  } finally {
    if (dryRun) await management('deleteApplication', { id });
  }
}

function refuseNewApps(apps: readonly ComparedApp[]): void {
  const items = apps.flatMap(({ app, live }) => (live === undefined ? [app.item] : [])).join(', ');
  if (items === '') return;
  throw new Fault('usage', `--seed: a daemon gives new applications random ids and keys (${items})`, {
    hint: 'apply the seed to the file (--file), or start the daemon with it: `vault serve --dev --seed-file FILE --seed N`',
  });
}

/** Returns the error with a hint that names the new applications whose keys are lost. */
function withKeyHint(error: unknown, apps: SeededApps): unknown {
  const names = [...apps].flatMap(([item, { id, key }]) => (key === undefined ? [] : [`${item} (${id})`])).join(', ');
  if (!(error instanceof Fault) || names === '') return error;
  const { code, message, details, hint } = error;
  const lost = `regenerate the lost keys of ${names} with \`vault apps regenerate ID\``;
  return new Fault(code, message, { details, hint: hint === undefined ? lost : `${hint}; ${lost}` });
}

/** Resolves to the key that `random` gives to the application; undefined if it has another id or key. */
async function knownKey(client: Client, id: string, random: Pick<Random, 'bytes' | 'id'>): Promise<string | undefined> {
  const apiKey = generateApiKey({ ...random, timeOrderedId: random.id });
  if (random.id() !== id) return undefined;
  const { status } = await client.call({ operation: 'listPermissions', apiKey, params: {}, query: [] });
  return status === 200 ? apiKey : undefined;
}
