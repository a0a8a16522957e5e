import type { Caller, World } from '../handler.ts';
import { isExpired } from '../is-expired.ts';
import type { FoundReply, Replay } from '../replay.ts';
import { openApplication, showApplication } from './application-codec.ts';
import { checkApplicationKey, showApplicationKey } from './application-key-codec.ts';

/** Resolves to the application of a stored reply; undefined when it is gone. */
async function findShown({ ids: [id = ''] }: FoundReply, { tenant, trail }: Caller, world: World) {
  const record = await world.store.findApplication(tenant.record.id, id, world.clock.cutoff());
  if (record === undefined) return undefined;
  trail.shown([id], false);
  return openApplication(tenant.keyring, id, record);
}

/** Resolves to the API key of a stored reply; undefined when it is gone. */
async function findIssued({ issued }: FoundReply, { tenant }: Caller, world: World) {
  const record = issued && (await world.store.findApplicationKey(tenant.record.id, issued.id));
  if (record === undefined || isExpired(record, world.clock.cutoff())) return undefined;
  checkApplicationKey(tenant.keyring, record);
  return { record, key: issued?.key };
}

/**
 * Answers a retry of an operation that shows an application with a new API key, if the application still has the same
 * revision and the key.
 */
export const replayIssued: Replay<'createApplication' | 'regenerateApplicationKey'> = async (
  found,
  _request,
  caller,
  world,
) => {
  const application = await findShown(found, caller, world);
  const { issued } = found;
  // An application may be created without a key; it then has no secret to show again.
  if (application === undefined || issued === undefined) return application && showApplication(application);
  if (application.record.revision !== issued.revision) return undefined;
  if ((await findIssued(found, caller, world)) === undefined) return undefined;
  // An API key is as secret as plaintext.
  caller.trail.shown(found.ids, true);
  return showApplication(application, issued.key);
};

/** Answers a retry of Create a Key, if the key still exists. */
export const replayCreateKey: Replay<'createApplicationKey'> = async (found, _request, caller, world) => {
  const issued = await findIssued(found, caller, world);
  if (issued === undefined) return undefined;
  caller.trail.shown(found.ids, true);
  return showApplicationKey(issued.record, issued.key);
};

export const replayUpdateApplication: Replay<'updateApplication'> = async (found, _request, caller, world) => {
  const application = await findShown(found, caller, world);
  return application && showApplication(application);
};
