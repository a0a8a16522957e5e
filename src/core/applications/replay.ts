import type { Caller, Context } from '../handler.ts';
import { isExpired } from '../is-expired.ts';
import type { FoundReply, Replay } from '../replay.ts';
import { openApplication, showApplication } from './application-codec.ts';
import { checkApplicationKey, showApplicationKey } from './application-key-codec.ts';

/** Resolves to an application; undefined when it is gone. */
async function findOpened(id: string, { tenant }: Caller, context: Context) {
  const record = await context.store.findApplication(tenant.record.id, id, context.clock.cutoff());
  return record && openApplication(tenant.keyring, id, record);
}

/** Resolves to the application of a stored reply; undefined when it is gone. */
async function findShown({ ids: [id = ''] }: FoundReply, caller: Caller, context: Context) {
  const application = await findOpened(id, caller, context);
  if (application !== undefined) caller.recorder.shown([id], false, [application.details.name]);
  return application;
}

/** Resolves to the API key of a stored reply; undefined when it is gone. */
async function findIssued({ issued }: FoundReply, { tenant }: Caller, context: Context) {
  const record = issued && (await context.store.findApplicationKey(tenant.record.id, issued.id));
  if (record === undefined || isExpired(record, context.clock.cutoff())) return undefined;
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
  context,
) => {
  const application = await findShown(found, caller, context);
  const { issued } = found;
  // An application may be created without a key; it then has no secret to show again.
  if (application === undefined || issued === undefined) return application && showApplication(application);
  if (application.record.revision !== issued.revision) return undefined;
  if ((await findIssued(found, caller, context)) === undefined) return undefined;
  // An API key is as secret as plaintext.
  caller.recorder.shown(found.ids, true, [application.details.name]);
  return showApplication(application, issued.key);
};

/** Answers a retry of Create a Key, if the key still exists. */
export const replayCreateKey: Replay<'createApplicationKey'> = async (found, _request, caller, context) => {
  const issued = await findIssued(found, caller, context);
  if (issued === undefined) return undefined;
  const application = await findOpened(issued.record.application_id, caller, context);
  if (application === undefined) return undefined;
  caller.recorder.shown(found.ids, true, [application.details.name]);
  return showApplicationKey(issued.record, issued.key);
};

export const replayUpdateApplication: Replay<'updateApplication'> = async (found, _request, caller, context) => {
  const application = await findShown(found, caller, context);
  return application && showApplication(application);
};
