import type { AccessRule } from '../../contract/access-rule.ts';
import type { Application } from '../../contract/application.ts';
import type { Permission } from '../../contract/permissions.ts';
import { parseJson } from '../json/parse.ts';
import { stringifyJson } from '../json/stringify.ts';
import type { ApplicationRecord, SealContext, TenantKeyring } from '../ports.ts';
import { formatInstant } from '../time.ts';

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
