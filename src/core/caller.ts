import type { Grants } from './access/grants.ts';
import type { OpenedApplication } from './applications/opened-application.ts';
import type { OpenedTenant } from './tenants/opened-tenant.ts';

/** Who asks: the application of the API key, its tenant with its keys, and what it may do. */
export interface Caller {
  readonly application: OpenedApplication;
  readonly tenant: OpenedTenant;
  readonly grants: Grants;
}
