import type { ApplicationType } from '../contract/permissions.ts';
import type { AuthorityDraft, EndedRecord } from './audit/ports.ts';
import type { ApplicationRecord, Instant, PageOf, PageRequest } from './ports.ts';

/** The conditions for applications; all must hold. */
export interface ApplicationFilter {
  readonly tenant_id: string;
  readonly ids?: readonly string[] | undefined;
  readonly types?: readonly ApplicationType[] | undefined;
  readonly parent_id?: string | undefined;
  /** The latest end of an expiring application. */
  readonly latest?: Instant | undefined;
}

/**
 * The conditions on the creator of an expiring application, which hold in the commit that inserts it (decisions §6).
 */
export interface Minting {
  /** The hash of the API key that the creator called with. */
  readonly key_hash: Uint8Array;
  /** The maximum number of live expiring applications of the creator. */
  readonly most: number;
  readonly now: Instant;
  /** The latest end of an application that counts. Later ends were set under a wrong clock. */
  readonly latest: Instant;
}

/** The part of a store that keeps applications. */
export interface ApplicationStore {
  /**
   * Rejects with `unauthenticated` when the application's tenant or parent does not exist. With `minting`, also when
   * the parent has another key, and with `too_many_requests` when the parent already has the most expiring
   * applications.
   */
  insertApplication(application: ApplicationRecord, audit: AuthorityDraft, minting?: Minting): Promise<void>;
  findApplication(tenantId: string, id: string, now: Instant): Promise<ApplicationRecord | undefined>;
  /** Resolves to a page, newest first: by `created_at` descending, then by `id` ascending. */
  findApplications(filter: ApplicationFilter, page: PageRequest, now: Instant): Promise<PageOf<ApplicationRecord>>;
  /**
   * Resolves to false when it is missing or has another revision. A rotation that reseals it has no `audit`. With
   * `ended`, for a new API key, also removes the expiring applications that it created, as `deleteApplication` does;
   * `ended` receives them, and is not called without any.
   */
  replaceApplication(
    application: ApplicationRecord,
    expectedRevision: number,
    audit: AuthorityDraft | undefined,
    ended?: (removed: readonly EndedRecord[]) => AuthorityDraft,
  ): Promise<boolean>;
  /**
   * Removes an application, the expiring applications that it created, and the replies that were stored for their calls.
   * `audit` receives the removed applications, `id` first.
   */
  deleteApplication(
    tenantId: string,
    id: string,
    expectedRevision: number,
    audit: (removed: readonly EndedRecord[]) => AuthorityDraft,
  ): Promise<boolean>;
}
