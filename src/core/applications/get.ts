import type { Caller } from '../caller.ts';
import type { Handler } from '../handler.ts';
import { Problem } from '../problem.ts';
import type { World } from '../world.ts';
import { type OpenedApplication, openApplication, showApplication } from './opened-application.ts';

/** Get an Application (§4.2). */
export const getApplication: Handler<'getApplication'> = async ({ params: { id } }, caller, world) =>
  showApplication(await findApplication(id, caller, world));

/** Get an Application by Key (§4.2). */
export const getApplicationByKey: Handler<'getApplicationByKey'> = async (_request, { application }) =>
  showApplication(application);

/** Throws `application_not_found`. */
export async function findApplication(id: string, { tenant }: Caller, world: World): Promise<OpenedApplication> {
  const canonical = id.toLowerCase();
  const record = await world.store.findApplication(tenant.record.id, canonical, world.clock.now());
  if (!record) throw new Problem('application_not_found');
  return openApplication(tenant.keyring, canonical, record);
}
