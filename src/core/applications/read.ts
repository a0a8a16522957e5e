import type { Caller, Handler, World } from '../handler.ts';
import { Problem } from '../problem.ts';
import { pageOf, pageRequest } from '../request/page.ts';
import { type OpenedApplication, openApplication, showApplication } from './application-codec.ts';
import { latestEnd } from './latest-end.ts';

/** Get an Application (§4.2). Only this reply counts the valid expiring applications that it created. */
export const getApplication: Handler<'getApplication'> = async ({ params: { id } }, caller, world) => {
  const application = await findApplication(id, caller, world);
  const { tenant_id, id: parent_id } = application.record;
  const none = { offset: 0, limit: 0 };
  const now = world.clock.now();
  const { total } = await world.store.findApplications({ tenant_id, parent_id, latest: latestEnd(now) }, none, now);
  return { ...showApplication(application), expiring_applications: total };
};

/** Get an Application by Key (§4.2): returns the calling application. */
export const getApplicationByKey: Handler<'getApplicationByKey'> = async (_request, { application }) =>
  showApplication(application);

/** Resolves to an application of the caller's tenant. Rejects with `application_not_found`. */
export async function findApplication(id: string, { tenant }: Caller, world: World): Promise<OpenedApplication> {
  const canonical = id.toLowerCase();
  const record = await world.store.findApplication(tenant.record.id, canonical, world.clock.cutoff());
  if (!record) throw new Problem('application_not_found');
  return openApplication(tenant.keyring, canonical, record);
}

/** List Applications (§4.2). */
export const listApplications: Handler<'listApplications'> = async ({ query }, { tenant, trail }, world) => {
  const ids = query.id?.map((id) => id.toLowerCase());
  const filter = { tenant_id: tenant.record.id, ids, types: query.type };
  const { records, total } = await world.store.findApplications(filter, pageRequest(query), world.clock.cutoff());
  const applications = records.map((record) => showApplication(openApplication(tenant.keyring, record.id, record)));
  trail.shown(
    records.map(({ id }) => id),
    false,
  );
  return pageOf(query, total, applications);
};
