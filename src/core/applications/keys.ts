import { MAX_KEYS } from '../../contract/application-key.ts';
import type { ApplicationKeyRecord } from '../application-ports.ts';
import { untilSwapped } from '../compare-and-swap.ts';
import type { Caller, Context, Handler } from '../handler.ts';
import { invalid, Problem } from '../problem.ts';
import { isExpired } from '../time.ts';
import { parseKeyExpiry } from '../tokens/expires-at.ts';
import { isReplaced, makeApplicationKey, type OpenedApplication, showApplicationKey } from './application-codec.ts';
import { areCurrent, findApplication } from './read.ts';
import { removeWith } from './removal.ts';

/** Create a Key (search-and-batches.md §9). Only this reply contains the API key. */
export const createApplicationKey: Handler<'createApplicationKey'> = async ({ params, body }, caller, context) => {
  const now = context.clock.now();
  const expires_at = body?.expires_at === undefined ? undefined : parseKeyExpiry(body.expires_at, now);
  const { id: tenantId } = caller.tenant.record;
  return untilSwapped(async () => {
    const older = await context.store.findApplicationKeys(tenantId, params.id.toLowerCase(), now);
    const { record, details } = await findApplication(params.id, caller, context);
    // No seal protects the count of keys. Keys that were read before it cannot have a higher version.
    if (older.some(({ version }) => version > record.key_version)) throw new Problem('integrity_failure');
    if (record.type === 'expiring') throw invalid('id', 'must not be an expiring application, which has one key');
    const made = { created_by: caller.application.record.id, created_at: now, expires_at };
    const { key, record: added } = makeApplicationKey(context, caller.tenant.keyring, record, made);
    const reply = showApplicationKey(added, key);
    const issued = { key, id: added.id, revision: added.revision };
    const audit = caller.recorder.changedAuthority([added.id], added.revision, { names: [details.name], issued });
    return (await context.store.insertApplicationKey(added, { most: MAX_KEYS, now }, audit)) ? reply : undefined;
  });
};

/** List Keys: the keys of an application that have not expired, newest first. */
export const listApplicationKeys: Handler<'listApplicationKeys'> = async ({ params }, caller, context) => {
  const application = await findApplication(params.id, caller, context);
  const keys = await findKeys(application, caller, context);
  caller.recorder.shown(
    keys.map(({ id }) => id),
    false,
    keys.map(() => application.details.name),
  );
  return keys.map((key) => showApplicationKey(key));
};

/** Get a Key. */
export const getApplicationKey: Handler<'getApplicationKey'> = async ({ params }, caller, context) => {
  const application = await findApplication(params.id, caller, context);
  const key = await findKey(params, application, caller, context);
  caller.recorder.shown([key.id], false, [application.details.name]);
  return showApplicationKey(key);
};

/** Delete a Key: it fails on the next call, and so do the keys of the expiring applications that it created. */
export const deleteApplicationKey: Handler<'deleteApplicationKey'> = async ({ params }, caller, context) => {
  await untilSwapped(async () => {
    const application = await findApplication(params.id, caller, context);
    const key = await findKey(params, application, caller, context);
    const { tenant_id, id } = application.record;
    const { name } = application.details;
    const removed = await removeWith(
      { ...context, keyring: caller.tenant.keyring },
      (ended) => caller.recorder.ended(ended, name),
      (removal) => context.store.deleteApplicationKey(tenant_id, id, key.id, removal),
    );
    return removed || undefined;
  });
  return undefined;
};

/** Resolves to the keys of an application, without those that a regeneration replaced and somebody put back. */
async function findKeys({ record, details }: OpenedApplication, { tenant }: Caller, context: Context) {
  // Write the use of keys by earlier calls now, because calls do not wait for this write.
  await context.activity.flush();
  return untilSwapped(async () => {
    const found = await context.store.findApplicationKeys(record.tenant_id, record.id, context.clock.cutoff());
    const keys = found.filter((key) => !isReplaced(tenant.keyring, key, details.keys_from));
    return (await areCurrent(context, 'application_key', keys)) ? keys : undefined;
  });
}

/**
 * Resolves to a key of an application. Rejects with `key_not_found`, and with `integrity_failure` if its row was
 * removed or altered.
 */
async function findKey(
  { key_id }: { readonly key_id: string },
  { record, details }: OpenedApplication,
  { tenant }: Caller,
  context: Context,
): Promise<ApplicationKeyRecord> {
  const id = key_id.toLowerCase();
  // Write the use of keys by earlier calls now, because calls do not wait for this write.
  await context.activity.flush();
  return untilSwapped(async () => {
    const key = await context.store.findApplicationKey(record.tenant_id, id);
    if (key === undefined) {
      if (await context.follower.isGone('application_key', record.tenant_id, id)) throw new Problem('key_not_found');
      return undefined;
    }
    // Open the seal first, in `isReplaced`: a row with an altered application or expiry must fail, not look missing.
    const isEnded = isReplaced(tenant.keyring, key, details.keys_from) || isExpired(key, context.clock.cutoff());
    if (isEnded || key.application_id !== record.id) throw new Problem('key_not_found');
    return (await context.follower.isCurrent('application_key', key)) ? key : undefined;
  });
}
