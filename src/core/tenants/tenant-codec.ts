import type { Tenant, TenantSettings } from '../../contract/tenant.ts';
import { parseJson } from '../json/parse.ts';
import { stringifyJson } from '../json/stringify.ts';
import type { SealContext, TenantKeyring, TenantRecord } from '../ports.ts';
import { formatInstant } from '../time.ts';

/** The sealed members of a tenant. */
export interface TenantDetails {
  readonly name: string;
  readonly settings: TenantSettings;
}

/** A tenant with its opened details and its keys. */
export interface OpenedTenant {
  readonly record: TenantRecord;
  readonly details: TenantDetails;
  readonly keyring: TenantKeyring;
}

type ClearColumns = Omit<TenantRecord, 'details'>;

/** Seals a tenant's details under the newest data key. */
export function sealTenant(
  keyring: TenantKeyring,
  unsealed: Omit<ClearColumns, 'key_id'>,
  details: TenantDetails,
): OpenedTenant {
  const clear = { ...unsealed, key_id: keyring.keyIds.key_id };
  const sealed = keyring.seal(contextOf(clear.id, clear), stringifyJson({ ...details }));
  return { record: { ...clear, details: sealed }, details, keyring };
}

/** Opens a tenant's details. `id` is the requested id, not the record's. Throws `integrity_failure`. */
export function openTenant(keyring: TenantKeyring, id: string, record: TenantRecord): OpenedTenant {
  // The cast is safe: opening proves that the text is the one that sealTenant sealed.
  const details = parseJson(keyring.open(contextOf(id, record), record.details)) as unknown;
  return { record, details: details as TenantDetails, keyring };
}

/** Returns the Tenant (§2.7) for replies. */
export function showTenant({ record, details }: OpenedTenant): Tenant {
  return {
    id: record.id,
    owner_id: record.owner_id,
    name: details.name,
    settings: { deduplicate_tokens: 'false', ...details.settings },
    ...(record.created_by !== undefined && { created_by: record.created_by }),
    created_at: formatInstant(record.created_at),
    ...(record.modified_by !== undefined && { modified_by: record.modified_by }),
    ...(record.modified_at !== undefined && { modified_at: formatInstant(record.modified_at) }),
  };
}

function contextOf(id: string, record: ClearColumns): SealContext {
  const { revision, owner_id, created_at, created_by, modified_at, modified_by, key_id } = record;
  const clear = [owner_id, created_at, created_by, modified_at, modified_by, key_id];
  return { table: 'tenant', id, column: 'details', revision, clear };
}
