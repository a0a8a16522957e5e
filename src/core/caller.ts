import type { Grants } from './access/grants.ts';
import type { OpenedApplication } from './applications/opened-application.ts';
import type { Trail } from './audit/trail.ts';
import type { OpenedTenant } from './tenants/opened-tenant.ts';

/** Whose API key it is: the application, its tenant with its keys, and what it may do. */
export interface Identity {
  readonly application: OpenedApplication;
  readonly tenant: OpenedTenant;
  readonly grants: Grants;
}

/** Who asks, in one call. */
export interface Caller extends Identity {
  readonly trail: Trail;
}
