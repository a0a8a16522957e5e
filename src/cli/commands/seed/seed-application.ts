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

/** A record as JSON. */
interface Written {
  readonly apps: readonly (readonly [item: string, id: string])[];
  readonly hidden: readonly (readonly [key: string, digest: string])[];
  readonly number: number;
}

/** What a seed made, besides its tokens: `created_by` names the application that makes those. */
export interface SeedRecord {
  /** Ids of applications by item. */
  readonly apps: ReadonlyMap<string, string>;
  /** Digests of what no read shows of tokens, by the digest of an item's first id. */
  readonly hidden: ReadonlyMap<string, string>;
  /** Generated data follows from it; absent without generated data. */
  readonly number?: number | undefined;
}

/** The application of a seed, with the key that this apply made for it. */
export interface SeedApplication {
  readonly id: string;
  readonly record: SeedRecord;
  /** Calls with its key. The fault `conflict`: another apply has made a key since. */
  readonly calls: SeedCalls;
  /** Calls with the management key, while the other key is good. */
  readonly change: SeedCalls;
  /** Replaces the record, when it differs. */
  readonly write: (record: SeedRecord) => Promise<void>;
}

export const NO_RECORD: SeedRecord = { apps: new Map(), hidden: new Map() };

const nameOf = (seed: string): string => `seed: ${seed}`;
/** Tells the application from another of its name. */
const MARK = 'kept by vault seed apply: ';

/**
 * Takes a seed for one apply: gives its application a new key, and makes the application first if there is none. An apply
 * that took it before gets a 401 for its next call.
 */
export async function takeSeed(client: Client, management: SeedCalls, seed: string): Promise<SeedApplication> {
  const asked = reportAnother(management, 'idempotency_in_progress');
  const body = { ...applicationOf(seed, MARK), type: 'private' };
  let own = await findSeedApplication(asked, seed);
  // Of two first applies at once, one makes the application. Without a key again: a stored reply may show one that was changed.
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
    calls,
    change,
    get record() {
      return record;
    },
    async write(next) {
      const { apps, hidden, number } = next;
      const text = MARK + JSON.stringify({ apps: [...apps], hidden: [...hidden], number });
      if (text !== written) await change('updateApplication', { id, body: applicationOf(seed, text) });
      [written, record] = [text, next];
    },
  };
}

/** The application that makes the tokens of a seed; of several, which two management applications made at once, the oldest. */
export async function findSeedApplication(management: SeedCalls, seed: string): Promise<JsonObject | undefined> {
  const all = await listApplications(management);
  return all.findLast((app) => {
    return app['name'] === nameOf(seed) && app['type'] === 'private' && textOf(app).startsWith(MARK);
  });
}

/** A caller without the management key can neither read nor change what the descriptions of rules hold, and a token could be forged. */
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
    'the seed has more applications, and items with masks, indexes or fingerprints, than its application can record';
  throw new Fault('invalid_data', fact, { hint: 'split it into several seeds (`seed:`)' });
}

function textOf({ rules }: JsonObject): string {
  const texts = (Array.isArray(rules) ? rules : []).map((rule: Json) => asObject(rule)?.['description']);
  return texts.join('');
}

function recordOf(app: JsonObject): SeedRecord {
  const { apps = [], hidden = [], number } = (parseText(textOf(app).slice(MARK.length)) ?? {}) as Partial<Written>;
  return { apps: new Map(apps), hidden: new Map(hidden), number };
}

/** Throws the fault `conflict` for a problem of this code. */
function reportAnother(calls: SeedCalls, code: Problem['code']): SeedCalls {
  return async (operation, parts) =>
    calls(operation, parts).catch((error: unknown) => {
      if (!(error instanceof Problem) || error.code !== code) throw error;
      throw new Fault('conflict', 'another apply of this seed is running', { hint: 'apply again when it has ended' });
    });
}

/** An idempotency key is taken by an application that has been deleted since, or by another definition. */
export function throwUnlessMismatch(error: unknown): undefined {
  if (error instanceof Problem && error.code === 'idempotency_mismatch') return undefined;
  throw error;
}
