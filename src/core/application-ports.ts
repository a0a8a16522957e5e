import type { ApplicationType } from '../contract/permissions.ts';
import type { AuthorityDraft, EndedRecord } from './audit/ports.ts';
import type { ApplicationRecord, Instant, PageOf, PageRequest } from './ports.ts';

/** An API key of an application (search-and-batches.md §9). It never changes, so its revision is 1. */
export interface ApplicationKeyRecord {
  readonly id: string;
  readonly tenant_id: string;
  readonly application_id: string;
  /** From `Keyring.apiKeyHash`. */
  readonly hash: Uint8Array;
  /** The number of the key in its application, from 1. No later key gets it. */
  readonly version: number;
  readonly created_by?: string | undefined;
  readonly created_at: Instant;
  readonly expires_at?: Instant | undefined;
  readonly revision: number;
  /** The id of the data key that seals the record. */
  readonly key_id: number;
  /** The last UTC day on which a call used the key, in days since 1970-01-01; 0 before the first. Not sealed. */
  readonly last_used_day: number;
  /** Sealed: the revision of its application in which it was made. It opens only with the record's clear columns. */
  readonly seal: Uint8Array;
}

/** The removed applications and the removed API keys of one change. */
export interface EndedApplications {
  readonly applications: readonly EndedRecord[];
  readonly keys: readonly EndedRecord[];
}

/** The steps of a removal of applications and API keys that need the keyring. Pure functions. */
export interface Removal {
  /** Returns whether a row is what its seal and the audit say. A removal leaves a row that is not. */
  isGenuine(record: ApplicationRecord | ApplicationKeyRecord): boolean;
  /** Returns the audit row. Throws `write_conflict` if the removal must begin again. */
  entry(ended: EndedApplications): AuthorityDraft;
}

/** The conditions for applications; all must hold. */
export interface ApplicationFilter {
  readonly tenant_id: string;
  readonly ids?: readonly string[] | undefined;
  readonly types?: readonly ApplicationType[] | undefined;
  readonly parent_id?: string | undefined;
  /** The latest end of an expiring application. */
  readonly latest?: Instant | undefined;
}

/** The limit of the expiring applications of a creator. It holds in the commit that inserts one (decisions §6). */
export interface Minting {
  /** The maximum number of live expiring applications of the creator. */
  readonly most: number;
  readonly now: Instant;
  /** The latest end of an application that counts. Later ends were set under a wrong clock. */
  readonly latest: Instant;
}

/** The parts of a new application besides its record. */
export interface NewApplicationParts {
  /** Its first API key. Absent for an application without a key. */
  readonly key?: ApplicationKeyRecord | undefined;
  readonly minting?: Minting | undefined;
}

/** The part of a store that keeps applications and their API keys. */
export interface ApplicationStore {
  /**
   * Rejects with `unauthenticated` when the application's tenant, parent or parent's key does not exist. With
   * `minting`, also with `too_many_requests` when the parent already has the most expiring applications.
   */
  insertApplication(application: ApplicationRecord, audit: AuthorityDraft, parts?: NewApplicationParts): Promise<void>;
  findApplication(tenantId: string, id: string, now: Instant): Promise<ApplicationRecord | undefined>;
  /** Resolves to a page, newest first: by `created_at` descending, then by `id` ascending. */
  findApplications(filter: ApplicationFilter, page: PageRequest, now: Instant): Promise<PageOf<ApplicationRecord>>;
  /**
   * Resolves to false when it is missing or has another revision. A rotation that reseals it has no `audit`. With
   * `regenerated`, also replaces all its keys by `key`, and removes the expiring applications that it created, as
   * `deleteApplication` does. `removal.entry` is not called if that removes nothing.
   */
  replaceApplication(
    application: ApplicationRecord,
    expectedRevision: number,
    audit: AuthorityDraft | undefined,
    regenerated?: { readonly key: ApplicationKeyRecord; readonly removal: Removal },
  ): Promise<boolean>;
  /**
   * Removes an application, the expiring applications that it created, their keys and their stored replies.
   * `removal.entry` receives the removed applications, `id` first.
   */
  deleteApplication(tenantId: string, id: string, expectedRevision: number, removal: Removal): Promise<boolean>;

  /** Resolves to the key, even if it has expired. */
  findApplicationKey(tenantId: string, id: string): Promise<ApplicationKeyRecord | undefined>;
  /** Resolves to the keys of an application that have not expired, newest first. */
  findApplicationKeys(tenantId: string, applicationId: string, now: Instant): Promise<readonly ApplicationKeyRecord[]>;
  /**
   * Adds a key to an application. Resolves to false when the application does not exist or has made another number of
   * keys than the key's version requires. Rejects with `too_many_keys` when it has `most` keys that have not expired.
   */
  insertApplicationKey(
    key: ApplicationKeyRecord,
    limit: { readonly most: number; readonly now: Instant },
    audit: AuthorityDraft,
  ): Promise<boolean>;
  /**
   * Removes a key and the expiring applications that were created with it, as `deleteApplication` does.
   * `removal.entry` receives the removed keys, `id` first.
   */
  deleteApplicationKey(tenantId: string, applicationId: string, id: string, removal: Removal): Promise<boolean>;
  /** Records that the keys were used on a day, in days since 1970-01-01. Ignores missing keys and later days. */
  markKeysUsed(tenantId: string, ids: readonly string[], day: number): Promise<void>;
}
