import type { Handler } from '../handler.ts';
import { pageOf, pageRequest } from '../page.ts';
import { openApplication, showApplication } from './opened-application.ts';

/** List Applications (§4.2). */
export const listApplications: Handler<'listApplications'> = async ({ query }, { tenant, trail }, world) => {
  const filter = { tenant_id: tenant.record.id, ids: query.id?.map((id) => id.toLowerCase()) };
  const { records, total } = await world.store.findApplications(filter, pageRequest(query), world.clock.now());
  const applications = records.map((record) => showApplication(openApplication(tenant.keyring, record.id, record)));
  trail.shown(
    records.map(({ id }) => id),
    false,
  );
  return pageOf(query, total, applications);
};
