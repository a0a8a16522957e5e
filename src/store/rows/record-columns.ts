import type { ApplicationKeyRecord } from '../../core/application-ports.ts';
import type { ApplicationRecord, TenantRecord, TokenRecord, Tombstone, WrappedKey } from '../../core/ports.ts';
import type { StoredReply } from '../../core/reply-ports.ts';
import {
  applicationType,
  bytes,
  columns,
  day,
  instant,
  type Kind,
  keyPurpose,
  keyVersion,
  month,
  number,
  optional,
  text,
  tokenType,
} from './columns.ts';

export const KEY = columns<WrappedKey>({
  key_id: number,
  purpose: keyPurpose,
  generation: number,
  wrapped: bytes,
  created_at: instant,
});

/** The columns of a live token. The month is fixed: a change of the token must not undo `markActive`. */
export const TOKEN_ROW = columns<Omit<TokenRecord, 'tenant_id'>>(
  {
    id: text,
    type: tokenType,
    created_at: number,
    expires_at: optional(number),
    revision: number,
    key_id: number,
    index_key_id: number,
    active_month: month,
    clear: bytes,
    presented: bytes,
    full: bytes,
  },
  { fixed: ['id', 'type', 'created_at', 'active_month'] },
);

export type RecordTables = ReturnType<typeof recordTables>;

/** Returns the columns of the tables with UUIDs, which each store keeps in its own kind of column. */
export function recordTables(uuid: Kind<string>) {
  return {
    uuid,

    tenant: columns<TenantRecord>(
      {
        id: uuid,
        owner_id: uuid,
        created_by: optional(uuid),
        created_at: number,
        modified_by: optional(uuid),
        modified_at: optional(number),
        revision: number,
        key_id: number,
        details: bytes,
      },
      { fixed: ['id', 'owner_id', 'created_by', 'created_at'] },
    ),

    application: columns<Omit<ApplicationRecord, 'tenant_id'>>(
      {
        id: uuid,
        type: applicationType,
        parent_id: optional(uuid),
        parent_key_id: optional(uuid),
        key_version: keyVersion,
        created_by: optional(uuid),
        created_at: number,
        modified_by: optional(uuid),
        modified_at: optional(number),
        expires_at: optional(number),
        revision: number,
        key_id: number,
        details: bytes,
      },
      // A change of the application must not undo `insertApplicationKey`.
      { fixed: ['id', 'type', 'parent_id', 'parent_key_id', 'key_version', 'created_by', 'created_at'] },
    ),

    /** Only the seal of a key changes; the day is fixed: a rotation must not undo `markKeysUsed`. */
    application_key: columns<Omit<ApplicationKeyRecord, 'tenant_id'>>(
      {
        id: uuid,
        application_id: uuid,
        hash: bytes,
        version: number,
        created_by: optional(uuid),
        created_at: number,
        expires_at: optional(number),
        revision: number,
        key_id: number,
        last_used_day: day,
        seal: bytes,
      },
      {
        fixed: [
          'id',
          'application_id',
          'hash',
          'version',
          'created_by',
          'created_at',
          'expires_at',
          'revision',
          'last_used_day',
        ],
      },
    ),

    tombstone: columns<Omit<Tombstone, 'tenant_id'>>({
      id: text,
      type: tokenType,
      created_by: uuid,
      created_at: number,
      deleted_by: optional(uuid),
      deleted_at: number,
      mac: bytes,
    }),

    reply: columns<Omit<StoredReply, 'tenant_id'>>({
      application_id: uuid,
      key_hash: bytes,
      request_hash: bytes,
      created_at: instant,
      key_id: number,
      sealed: bytes,
    }),
  };
}
