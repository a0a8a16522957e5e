import { parseText } from '../../../client/decode-problem.ts';
import type { Client } from '../../../contract/call.ts';
import type { Json, JsonObject } from '../../../contract/json.ts';
import type { Permission } from '../../../contract/permissions.ts';
import { Fault } from '../../../core/fault.ts';
import { Problem } from '../../../core/problem.ts';
import { asObject } from '../../output/result-view.ts';
import { listApplications, type SeedCalls, seedCalls } from './seed-calls.ts';

const PERMISSIONS: readonly Permission[] = [
  'token:create',
  'token:read',
  'token:search',
  'token:update',
  'token:delete',
];
const MAX_DESCRIPTION = 1_000;
const MAX_RULES = 50;

/**
 * The facts that a later apply cannot read from the vault. (It can read which tokens the seed made, from `created_by`.)
 * The record has a digest of the hidden members for each item. With one digest for all items, only an empty PATCH could
 * find the changed item, and a dry run must not write.
 */
export interface SeedRecord {
  /** Ids of applications by item. */
  readonly apps: ReadonlyMap<string, string>;
  /** Digests of the members that the API never returns, by the digest of the item's first id. */
  readonly hidden: ReadonlyMap<string, string>;
  /** The `--seed` of generated data; absent without generated data. */
  readonly number?: number | undefined;
}

/** The application that stores a seed's record and creates its tokens. Each apply regenerates its key. */
export type SeedApplication = Awaited<ReturnType<typeof takeSeed>>;

export const NO_RECORD: SeedRecord = { apps: new Map(), hidden: new Map() };

const nameOf = (seed: string): string => `seed: ${seed}`;
/**
 * The start of the first rule's description. It marks the seed's application, because a user's application may have the
 * same name.
 */
const MARK = 'kept by vault seed apply: ';

/**
 * Locks a seed for one apply by regenerating its application's key. Creates the application if it is missing. An
 * earlier apply of the same seed gets a 401 for its next call.
 */
export async function takeSeed(client: Client, management: SeedCalls, seed: string) {
  const asked = reportAnother(management, 'idempotency_in_progress');
  const body = { ...applicationOf(seed, MARK), type: 'private' };
  let own = await findSeedApplication(asked, seed);
  // The idempotency key makes two concurrent first applies create one application. The second try has no idempotency
  // key, because the stored reply may be that of an application that was renamed since.
  for (const idempotencyKey of [`vault seed apply ${seed}`, undefined]) {
    if (own === undefined) await asked('createApplication', { body, idempotencyKey }).catch(throwUnlessMismatch);
    own ??= await findSeedApplication(asked, seed);
  }
  const taken = await asked('regenerateApplicationKey', { id: String(own?.['id']) });
  const id = String(taken['id']);
  const calls = reportAnother(seedCalls(client, String(taken['key'])), 'unauthenticated');
  const change: SeedCalls = async (operation, parts) => {
    await calls('listPermissions');
    return asked(operation, parts);
  };
  let written = textOf(taken);
  let record = recordOf(taken);
  return {
    id,
    /** Calls the API with the application's key. Rejects with `conflict` when another apply has regenerated the key. */
    calls,
    /** Calls the API with the management key. Also rejects with `conflict` when another apply has taken over. */
    change,
    get record() {
      return record;
    },
    /** Replaces the record if it differs. */
    async write(next: SeedRecord): Promise<void> {
      const { apps, hidden, number } = next;
      const text = MARK + JSON.stringify({ apps: [...apps], hidden: [...hidden], number });
      if (text !== written) await change('updateApplication', { id, body: applicationOf(seed, text) });
      [written, record] = [text, next];
    },
  };
}

/** Finds the application of a seed: the oldest one, because two management keys may each have created one. */
export async function findSeedApplication(management: SeedCalls, seed: string): Promise<JsonObject | undefined> {
  const all = await listApplications(management);
  return all.findLast((app) => {
    return app['name'] === nameOf(seed) && app['type'] === 'private' && textOf(app).startsWith(MARK);
  });
}

/**
 * Returns the definition of a seed's application. The descriptions of its rules store the record `text`: only
 * management keys can read and change them, while many keys could forge a token.
 */
function applicationOf(seed: string, text: string): JsonObject {
  const rules = Array.from({ length: Math.ceil(text.length / MAX_DESCRIPTION) }, (_, at) => ({
    description: text.slice(at * MAX_DESCRIPTION, (at + 1) * MAX_DESCRIPTION),
    priority: at + 1,
    container: '/',
    transform: 'reveal',
    permissions: PERMISSIONS,
  }));
  if (rules.length <= MAX_RULES) return { name: nameOf(seed), rules };
  const fact =
    'the seed has too many applications, or too many items with masks, search indexes or fingerprint expressions';
  throw new Fault('invalid_data', fact, { hint: 'split the seed into several seeds (`seed:`)' });
}

function textOf({ rules }: JsonObject): string {
  const texts = (Array.isArray(rules) ? rules : []).map((rule: Json) => asObject(rule)?.['description']);
  return texts.join('');
}

function recordOf(app: JsonObject): SeedRecord {
  type Written = { apps?: [item: string, id: string][]; hidden?: [key: string, digest: string][]; number?: number };
  const { apps, hidden, number } = (parseText(textOf(app).slice(MARK.length)) ?? {}) as Written;
  return { apps: new Map(apps), hidden: new Map(hidden), number };
}

/** Returns `calls` that rejects with the fault `conflict` instead of the problem `code` of a competing apply. */
function reportAnother(calls: SeedCalls, code: Problem['code']): SeedCalls {
  return async (operation, parts) =>
    calls(operation, parts).catch((error: unknown) => {
      if (!(error instanceof Problem) || error.code !== code) throw error;
      throw new Fault('conflict', 'another apply of this seed is running', {
        hint: 'apply the seed again when it has ended',
      });
    });
}

/** Throws the error unless it is `idempotency_mismatch`: the key's application was deleted or had other members. */
export function throwUnlessMismatch(error: unknown): undefined {
  if (error instanceof Problem && error.code === 'idempotency_mismatch') return undefined;
  throw error;
}
