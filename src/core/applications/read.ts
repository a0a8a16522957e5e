import { PERMISSIONS, type Permission, type PermissionRow } from '../../contract/permissions.ts';
import type { ApplicationKeyRecord } from '../application-ports.ts';
import { untilSwapped } from '../compare-and-swap.ts';
import type { Caller, Context, Handler } from '../handler.ts';
import type { ApplicationRecord } from '../ports.ts';
import { Problem } from '../problem.ts';
import { pageOf, pageRequest } from '../request/page.ts';
import { isExpired, latestEnd } from '../time.ts';
import { type OpenedApplication, openApplication, showApplication } from './application-codec.ts';

/** Get an Application (§4.2). Only this reply counts the valid expiring applications that it created. */
export const getApplication: Handler<'getApplication'> = async ({ params: { id } }, caller, context) => {
  const application = await findApplication(id, caller, context);
  const { tenant_id, id: parent_id } = application.record;
  caller.recorder.shown([parent_id], false, [application.details.name]);
  const none = { offset: 0, limit: 0 };
  const now = context.clock.now();
  const { total } = await context.store.findApplications({ tenant_id, parent_id, latest: latestEnd(now) }, none, now);
  return { ...showApplication(application), expiring_applications: total };
};

/** Get an Application by Key (§4.2): returns the calling application. */
export const getApplicationByKey: Handler<'getApplicationByKey'> = async (_request, { application }) =>
  showApplication(application);

/**
 * Resolves to an application of the caller's tenant. Rejects with `application_not_found`, and with `integrity_failure`
 * if its row was removed, altered or restored from an older copy.
 */
export async function findApplication(id: string, { tenant }: Caller, context: Context): Promise<OpenedApplication> {
  const { store, follower, clock } = context;
  const tenantId = tenant.record.id;
  const canonical = id.toLowerCase();
  return untilSwapped(async () => {
    // An altered expiry must not hide the application.
    const record = await store.findApplication(tenantId, canonical, 0);
    if (record === undefined) {
      if (await follower.isGone('application', tenantId, canonical)) throw new Problem('application_not_found');
      return undefined;
    }
    const opened = openApplication(tenant.keyring, canonical, record);
    if (!(await follower.isCurrent('application', record))) return undefined;
    if (isExpired(record, clock.cutoff())) throw new Problem('application_not_found');
    return opened;
  });
}

/** List Applications (§4.2). */
export const listApplications: Handler<'listApplications'> = async ({ query }, { tenant, recorder }, context) => {
  const ids = query.id?.map((id) => id.toLowerCase());
  const filter = { tenant_id: tenant.record.id, ids, types: query.type };
  const { records, total } = await untilSwapped(async () => {
    const found = await context.store.findApplications(filter, pageRequest(query), context.clock.cutoff());
    return (await areCurrent(context, 'application', found.records)) ? found : undefined;
  });
  const applications = records.map((record) => openApplication(tenant.keyring, record.id, record));
  recorder.shown(
    records.map(({ id }) => id),
    false,
    applications.map(({ details }) => details.name),
  );
  return pageOf(
    query,
    total,
    applications.map((application) => showApplication(application)),
  );
};

/** Resolves to whether no record has changed since it was read. Rejects with `integrity_failure` for an older row. */
export async function areCurrent(
  { follower }: Context,
  table: 'application' | 'application_key',
  records: readonly (ApplicationRecord | ApplicationKeyRecord)[],
): Promise<boolean> {
  for (const record of records) if (!(await follower.isCurrent(table, record))) return false;
  return true;
}

/** Lists the permissions of the registry (search-and-batches.md §6). */
export const listPermissions: Handler<'listPermissions'> = async ({ query: { application_type } }) =>
  (Object.entries(PERMISSIONS) as [Permission, PermissionRow][])
    .filter(([, { types }]) => application_type === undefined || types.includes(application_type))
    .map(([type, { allows, types }]) => ({ type, description: allows, application_types: types }));
