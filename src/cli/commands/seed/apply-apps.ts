import type { Json, JsonObject } from '../../../contract/json.ts';
import type { Permission } from '../../../contract/permissions.ts';
import { Fault } from '../../../core/fault.ts';
import { normalizeContainer } from '../../../core/tokens/containers.ts';
import { asObject } from '../../output/result-view.ts';
import { compareItem, type SeedChange } from './compare-item.ts';
import { tokenAppName } from './read-seed-file.ts';
import { recordsOf, type SeedCalls } from './seed-calls.ts';
import type { SeedApp, SeedDocument } from './seed-document.ts';
import type { SeededRandom } from './seeded-random.ts';

/** An application of the seed, and how it differs from that in the vault. */
export interface ComparedApp {
  readonly app: SeedApp;
  readonly change: SeedChange;
  readonly live: JsonObject | undefined;
}

const PERMISSIONS: readonly Permission[] = ['token:create', 'token:read', 'token:update'];

/** Returns the definition of the application that creates and changes the tokens of a seed. */
export function tokenAppOf(seed: Pick<SeedDocument, 'name' | 'position'>): SeedApp {
  const name = tokenAppName(seed.name);
  const rule = { description: name, priority: 1, container: '/', transform: 'reveal', permissions: PERMISSIONS };
  return { item: name, position: seed.position, body: { name, type: 'private', rules: [rule] } };
}

/** Lists every application of the tenant, newest first. */
export async function listSeedApps(calls: SeedCalls): Promise<readonly JsonObject[]> {
  const apps: JsonObject[] = [];
  for (let page = 1; ; page++) {
    const found = recordsOf(await calls('listApplications', { query: { size: ['100'], page: [String(page)] } }));
    apps.push(...found);
    if (found.length < 100) return apps;
  }
}

/**
 * Compares an application with that of the same name in the vault. Throws the fault `conflict` when several have the
 * name, or when the one has another type.
 */
export function compareApp(app: SeedApp, all: readonly JsonObject[]): ComparedApp {
  const { item, position, body } = app;
  const [live, ...others] = all.filter(({ name }) => name === body.name);
  if (others.length > 0) {
    throw new Fault('conflict', `${position()}: ${others.length + 1} applications have the name ${body.name}`, {
      hint: 'delete the others, or change their names: `vault apps list`, `vault apps delete ID`',
    });
  }
  if (live !== undefined && live['type'] !== body.type) {
    const fact = `the application ${body.name} has the type ${String(live['type'])}, which cannot change`;
    throw new Fault('conflict', `${position('type')}: ${fact}`, { hint: 'choose another name' });
  }
  return { app, live, change: compareItem(`apps.${item}`, normalizedApp(body), live && normalizedApp(live)) };
}

/**
 * Creates or changes the application. Resolves to it, with `key` only if it is new. `random` and `label` determine the
 * id and the key of a new application.
 */
export async function putApp(
  { app: { body, position }, live, change }: ComparedApp,
  calls: SeedCalls,
  random?: SeededRandom,
  label = '',
): Promise<JsonObject> {
  if (live === undefined) {
    const create = () => calls('createApplication', { body, position });
    return random?.during(label, create) ?? create();
  }
  const { type: _, ...definition } = body;
  if (change.action === 'change')
    await calls('updateApplication', { id: String(live['id']), body: definition, position });
  return live;
}

/** Returns the members of an application to compare, in the same form for a seed file and for a reply of the API. */
function normalizedApp({ name, permissions, rules, can_create_expiring_applications }: JsonObject): JsonObject {
  return {
    name: name ?? null,
    permissions: permissions ?? [],
    rules: (Array.isArray(rules) ? rules : []).map(normalizedRule),
    can_create_expiring_applications: can_create_expiring_applications ?? false,
  };
}

function normalizedRule(rule: Json): Json {
  const members = asObject(rule) ?? {};
  return { ...members, container: normalizeContainer(String(members['container'])) };
}
