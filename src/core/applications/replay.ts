import type { Caller, World } from '../handler.ts';
import type { FoundReply, Replay } from '../replay.ts';
import { openApplication, showApplication } from './application-codec.ts';

/** Resolves to the application of a stored reply; undefined when it is gone. */
async function findShown({ ids: [id = ''] }: FoundReply, { tenant, trail }: Caller, world: World) {
  const record = await world.store.findApplication(tenant.record.id, id, world.clock.cutoff());
  if (record === undefined) return undefined;
  trail.shown([id], false);
  return openApplication(tenant.keyring, id, record);
}

/** Answers a retry of an operation that shows a new API key, if the application still has the same revision. */
export const replayIssued: Replay<'createApplication' | 'regenerateApplicationKey'> = async (
  found,
  _request,
  caller,
  world,
) => {
  const application = await findShown(found, caller, world);
  const { issued } = found;
  if (application === undefined || application.record.revision !== issued?.revision) return undefined;
  // An API key is as secret as plaintext.
  caller.trail.shown(found.ids, true);
  return showApplication(application, issued.key);
};

export const replayUpdateApplication: Replay<'updateApplication'> = async (found, _request, caller, world) => {
  const application = await findShown(found, caller, world);
  return application && showApplication(application);
};
