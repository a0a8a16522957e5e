import type { Application } from '../../contract/application.ts';
import { type ApplicationKey, MAX_KEY_VERSION } from '../../contract/application-key.ts';
import type { AccessRule, Permission } from '../../contract/permissions.ts';
import type { ApplicationKeyRecord } from '../application-ports.ts';
import type { Context } from '../handler.ts';
import { parseJson } from '../json/parse.ts';
import { stringifyJson } from '../json/stringify.ts';
import type { ApplicationRecord, SealContext, TenantKeyring } from '../ports.ts';
import { Problem } from '../problem.ts';
import { formatDay, formatInstant } from '../time.ts';
import { generateApiKey } from './api-key.ts';

/** The sealed members of an application. */
export interface ApplicationDetails {
  readonly name: string;
  readonly permissions: readonly Permission[];
  readonly rules: readonly AccessRule[];
  readonly can_create_expiring_applications?: boolean | undefined;
  /** The revision of the last regeneration. Keys of earlier revisions have ended, even if a row was hidden from it. */
  readonly keys_from?: number | undefined;
}

/** An application with its opened details. */
export interface OpenedApplication {
  readonly record: ApplicationRecord;
  readonly details: ApplicationDetails;
}

type ClearColumns = Omit<ApplicationRecord, 'details'>;
type BoundColumns = Omit<ClearColumns, 'key_version'>;

/** Seals an application's details under the newest data key. */
export function sealApplication(
  keyring: TenantKeyring,
  unsealed: Omit<ClearColumns, 'key_id'>,
  details: ApplicationDetails,
): OpenedApplication {
  const clear = { ...unsealed, key_id: keyring.keyIds.key_id };
  const sealed = keyring.seal(contextOf(clear.id, clear), stringifyJson({ ...details }));
  return { record: { ...clear, details: sealed }, details };
}

/** Opens an application's details. `id` is the requested id, not the record's. Throws `integrity_failure`. */
export function openApplication(keyring: TenantKeyring, id: string, record: ApplicationRecord): OpenedApplication {
  // The cast is safe: opening proves that the text is the one that sealApplication sealed.
  const details = parseJson(keyring.open(contextOf(id, record), record.details)) as unknown;
  return { record, details: details as ApplicationDetails };
}

/** Returns the Application (§2.4) for replies, without its API key unless `key` is given. */
export function showApplication({ record, details }: OpenedApplication, key?: string): Application {
  return {
    id: record.id,
    tenant_id: record.tenant_id,
    name: details.name,
    ...(key !== undefined && { key }),
    type: record.type,
    permissions: details.permissions,
    rules: details.rules,
    ...(record.created_by !== undefined && { created_by: record.created_by }),
    created_at: formatInstant(record.created_at),
    ...(record.modified_by !== undefined && { modified_by: record.modified_by }),
    ...(record.modified_at !== undefined && { modified_at: formatInstant(record.modified_at) }),
    ...(record.expires_at !== undefined && { expires_at: formatInstant(record.expires_at) }),
    ...(details.can_create_expiring_applications !== undefined && {
      can_create_expiring_applications: details.can_create_expiring_applications,
    }),
  };
}

function contextOf(id: string, record: BoundColumns): SealContext {
  const { revision, type, parent_id, parent_key_id, created_at, created_by, key_id } = record;
  const { modified_at, modified_by, expires_at } = record;
  const parent = [parent_id, parent_key_id];
  const clear = [type, ...parent, created_at, created_by, modified_at, modified_by, expires_at, key_id];
  return { table: 'application', id, column: 'details', revision, clear };
}

/**
 * Makes an API key for an application in its revision: its text, which no store keeps, and its record. `key` is a text
 * from `generateApiKey`; default: a new one. Throws `integrity_failure` if an altered count of keys leaves no version.
 */
export function makeApplicationKey(
  { random, keyring }: Pick<Context, 'random' | 'keyring'>,
  tenant: TenantKeyring,
  { tenant_id, id: application_id, revision, key_version }: Omit<ApplicationRecord, 'details'>,
  made: Pick<ApplicationKeyRecord, 'created_by' | 'created_at' | 'expires_at'>,
  key = generateApiKey(random),
): { readonly key: string; readonly record: ApplicationKeyRecord } {
  const version = key_version + 1;
  if (version > MAX_KEY_VERSION) throw new Problem('integrity_failure');
  const hash = keyring.apiKeyHash(key);
  const record = { ...made, version, id: random.id(), tenant_id, application_id, hash, revision: 1, last_used_day: 0 };
  return { key, record: sealApplicationKey(tenant, record, revision) };
}

/** Seals a key under the newest data key. `since` is the revision of its application in which it was made. */
export function sealApplicationKey(
  keyring: TenantKeyring,
  unsealed: Omit<ApplicationKeyRecord, 'key_id' | 'seal'>,
  since: number,
): ApplicationKeyRecord {
  const record = { ...unsealed, key_id: keyring.keyIds.key_id };
  return { ...record, seal: keyring.seal(keyContextOf(record), String(since)) };
}

/**
 * Checks the clear columns of a key against its seal. Returns the revision of its application in which it was made.
 * Throws `integrity_failure`.
 */
export function checkApplicationKey(keyring: TenantKeyring, record: ApplicationKeyRecord): number {
  return Number(keyring.open(keyContextOf(record), record.seal));
}

/** Returns whether a key was replaced by a regeneration, although its row is there. Throws `integrity_failure`. */
export function isReplaced(keyring: TenantKeyring, key: ApplicationKeyRecord, keysFrom: number | undefined): boolean {
  return checkApplicationKey(keyring, key) < Number(keysFrom ?? 0);
}

/** Returns the key for replies, without its text unless `key` is given. */
export function showApplicationKey(record: ApplicationKeyRecord, key?: string): ApplicationKey {
  return {
    id: record.id,
    version: String(record.version),
    ...(key !== undefined && { key }),
    ...(record.created_by !== undefined && { created_by: record.created_by }),
    created_at: formatInstant(record.created_at),
    ...(record.expires_at !== undefined && { expires_at: formatInstant(record.expires_at) }),
    ...(record.last_used_day > 0 && { last_used_on: formatDay(record.last_used_day) }),
  };
}

function keyContextOf(record: Omit<ApplicationKeyRecord, 'seal' | 'last_used_day'>): SealContext {
  const { id, application_id, hash, version, created_at, created_by, expires_at, revision, key_id } = record;
  const clear = [application_id, hash, version, created_at, created_by, expires_at, key_id];
  return { table: 'application_key', id, column: 'seal', revision, clear };
}
