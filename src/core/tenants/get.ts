import type { Handler } from '../handler.ts';
import { showTenant } from './opened-tenant.ts';

/** Get a Tenant (§4.3): the one that owns the calling key. */
export const getTenant: Handler<'getTenant'> = async (_request, { tenant }) => showTenant(tenant);
