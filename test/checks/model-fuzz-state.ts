import type { Application } from '../../src/contract/application.ts';
import type { OperationId } from '../../src/contract/operations.ts';
import type { Tenant } from '../../src/contract/tenant.ts';
import type { ModelApplication, ModelKey } from './model-fuzz-access.ts';
import type { Plain, PlainObject } from './model-fuzz-values.ts';

/** A flaw that the generator put into a call. The vault detects it before it reads any record. */
export interface Flaw {
  readonly status: 400 | 413 | 415;
  readonly code: string;
  readonly path?: string;
}

export interface Command {
  readonly operation: OperationId;
  readonly apiKey: string | undefined;
  readonly id?: string;
  readonly keyId?: string;
  readonly query: readonly (readonly [string, string])[];
  readonly mediaType?: string | undefined;
  readonly bodyText?: string;
  readonly body?: PlainObject;
  readonly flaw?: Flaw | undefined;
}

/** The expected reply. For a problem: its code, and paths of which `errors` must name at least one. */
export interface Expected {
  readonly status: number;
  readonly body?: PlainObject | readonly PlainObject[];
  readonly code?: string;
  readonly paths?: readonly string[];
}

export interface ModelToken {
  readonly id: string;
  readonly type: string;
  readonly created_by: string;
  readonly created_at: number;
  data: Plain;
  mask?: Plain | undefined;
  masked?: Plain | undefined;
  fingerprint: string;
  /** The value that the fingerprint covers: its source and its text. */
  printed: string;
  /** The paths of the expressions that have no result, because they fail on the data. */
  failed: readonly string[];
  fingerprint_expression: string;
  containers: readonly string[];
  metadata?: Readonly<Record<string, string>> | undefined;
  search_indexes?: readonly string[] | undefined;
  modified_by?: string | undefined;
  modified_at?: number | undefined;
  expires?: Expires | undefined;
}

export interface Expires {
  readonly instant: number;
  readonly text: string;
}

export interface ModelTenant {
  readonly id: string;
  readonly owner_id: string;
  readonly created_at: number;
  name: string;
  settings: PlainObject;
  modified_by?: string;
  modified_at?: number;
  readonly applications: Map<string, ModelApplication>;
  readonly tokens: Map<string, ModelToken>;
  /** Ids of live, expired and deleted tokens. */
  readonly takenIds: Set<string>;
  readonly lastCreated: Map<string, number>;
  /** `month/id` of each active token. */
  readonly active: Set<string>;
  /** The fingerprint that the vault first returned for each type and value. */
  readonly fingerprints: Map<string, string>;
}

export interface Step {
  readonly command: Command;
  readonly caller: ModelApplication;
  readonly callerKey: ModelKey;
  readonly tenant: ModelTenant;
  readonly now: number;
  /** The reply under test. The model takes ids, keys and new fingerprints from it. */
  readonly actual: PlainObject;
  readonly model: Model;
}

/** A fact that a wrong model ignores, for controls: the expiry of records, or the rules about lists and searches. */
export type Ignored = 'expiry' | 'rules';

export interface Model {
  readonly tenants: Map<string, ModelTenant>;
  readonly ignores: Ignored | undefined;
  readonly includedActiveTokens: number;
}

/** A tenant of the vaults under test, and its first application. */
export interface CreatedTenant {
  readonly tenant: Tenant;
  readonly application: Application;
}

const INCLUDED_ACTIVE_TOKENS = 1_000;

export function createModel(created: readonly CreatedTenant[], now: number, ignores?: Ignored): Model {
  const tenants = created.map(({ tenant: { id, owner_id, name }, application }): [string, ModelTenant] => {
    const tenant: ModelTenant = {
      ...{ id, owner_id, name, created_at: now, settings: {} },
      applications: new Map(),
      tokens: new Map(),
      takenIds: new Set(),
      lastCreated: new Map(),
      active: new Set(),
      fingerprints: new Map(),
    };
    addApplication(tenant, application, now);
    return [id, tenant];
  });
  return { tenants: new Map(tenants), ignores, includedActiveTokens: INCLUDED_ACTIVE_TOKENS };
}

/** Adds a management application that no call created. */
export function addApplication(
  tenant: ModelTenant,
  { id, name, key = '', permissions }: Application,
  now: number,
): void {
  tenant.applications.set(id, {
    ...{ id, name, permissions, rules: [], tenant_id: tenant.id, type: 'management' },
    created_by: tenant.owner_id,
    created_at: now,
    keys: [{ key, version: 1, created_by: tenant.owner_id, created_at: now }],
    keyVersion: 1,
  });
}

export const problem = (status: number, code: string, paths?: readonly string[]): Expected => ({
  status,
  code,
  ...(paths && { paths }),
});

export const iso = (instant: number) => new Date(instant).toISOString().replace('Z', '+00:00');

export const isLive = (model: Model, instant: number | undefined, now: number) =>
  model.ignores === 'expiry' || instant === undefined || instant > now;

export const monthOf = (instant: number) => new Date(instant).toISOString().slice(0, 7);

/** A placeholder for a fingerprint that no reply has shown yet. Any value matches it. */
export const UNSEEN = 'unseen';

/** Returns the one fingerprint of a value of a type in a tenant (§2.1, decisions §7). */
export function fingerprintOf(tenant: ModelTenant, type: string, printed: string, actual: PlainObject): string {
  const name = `${type}\n${printed}`;
  const known = tenant.fingerprints.get(name);
  if (known !== undefined) return known;
  if (actual['fingerprint'] === undefined) return UNSEEN;
  const given = String(actual['fingerprint']);
  if ([...tenant.fingerprints.values()].includes(given)) return 'a fingerprint that nothing else has';
  tenant.fingerprints.set(name, given);
  for (const token of tenant.tokens.values()) {
    if (token.type === type && token.printed === printed) token.fingerprint = given;
  }
  return given;
}

/** Returns a page sorted by `created_at` descending, then by `id` (decisions §2). */
export function page<T extends { readonly id: string; readonly created_at: number }>(
  asked: PlainObject,
  all: readonly T[],
  show: (item: T) => PlainObject,
): { readonly body: PlainObject; readonly items: readonly T[] } {
  const [number, size] = [Number(asked['page'] ?? 1), Number(asked['size'] ?? 20)];
  const sorted = [...all].sort((a, b) => b.created_at - a.created_at || (a.id < b.id ? -1 : 1));
  const items = sorted.slice((number - 1) * size, number * size);
  const pagination = {
    total_items: all.length,
    page_number: number,
    page_size: size,
    total_pages: Math.ceil(all.length / size),
  };
  return { body: { pagination, data: items.map(show) }, items };
}
