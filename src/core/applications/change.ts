import type { Application } from '../../contract/application.ts';
import type { BodyOf } from '../../contract/operations.ts';
import type { ApplicationType, Permission } from '../../contract/permissions.ts';
import { checkApplication, checkTypeless, normalizeRules } from '../access/check-application.ts';
import type { EndedApplications, Removal } from '../application-ports.ts';
import { untilSwapped } from '../compare-and-swap.ts';
import type { Caller, Context, Handler } from '../handler.ts';
import { invalid, Problem } from '../problem.ts';
import { checkReadOnly } from '../request/check-read-only.ts';
import { makeApplicationKey, type OpenedApplication, sealApplication, showApplication } from './application-codec.ts';
import { findApplication } from './read.ts';
import { removeWith } from './removal.ts';

/** Update Application (§4.2): replaces name, permissions, rules and the flag; type, key and tenant never change. */
export const updateApplication: Handler<'updateApplication'> = async ({ params, body }, caller, context) => {
  const { name } = body;
  const { permissions, rules } = checkUpdate(body);
  return replace(params.id, caller, context, (found) => {
    const { record, details } = found;
    const { type } = record;
    const can_create_expiring_applications = flagFor(type, body.can_create_expiring_applications);
    checkApplication({ type, permissions, rules, can_create_expiring_applications });
    if (record.id === caller.application.record.id) refuseWidening(details.permissions, permissions);
    // The count changes without an update, so any value is accepted.
    const { expiring_applications } = body;
    checkReadOnly('updateApplication', body, { ...showApplication(found), expiring_applications });
    const { keys_from } = found.details;
    return { record, details: { name, permissions, rules, can_create_expiring_applications, keys_from } };
  });
};

/**
 * Returns the rights of an update. Throws `invalid_request` for members that are wrong for every application, before one
 * is read (decisions §1, order of checks).
 */
export function checkUpdate(body: BodyOf<'updateApplication'>) {
  const { permissions = [] } = body;
  // A reply lists the permissions of an application that has only rules: `[]` (§4.2, decisions §6).
  if (
    body.permissions?.length === 0 &&
    (body.id === undefined || body.rules === undefined || body.rules.length === 0)
  ) {
    throw invalid('permissions', 'must not be empty; omit it when rules grant the permissions');
  }
  const rules = normalizeRules(body.rules ?? []);
  checkTypeless({ permissions, rules });
  return { permissions, rules };
}

/** Returns the flag to store. Clients send `false` for every type; the vault stores it for private ones only. */
function flagFor(type: ApplicationType, flag: boolean | undefined): boolean | undefined {
  return type !== 'private' && flag === false ? undefined : flag;
}

/**
 * Regenerate API Key (§4.2): a new key replaces all keys. They fail on the next call, and so do the keys of the expiring
 * applications that the application created (decisions §6): a thief of a previous key may hold them.
 */
export const regenerateApplicationKey: Handler<'regenerateApplicationKey'> = async ({ params }, caller, context) =>
  replace(params.id, caller, context, (application) => application, true);

/**
 * Delete Application (§4.2): removes the application and the expiring applications that it created (decisions §6).
 * Their tokens stay.
 */
export const deleteApplication: Handler<'deleteApplication'> = async ({ params }, caller, context) => {
  await untilSwapped(async () => {
    const { record, details } = await findApplication(params.id, caller, context);
    const { tenant_id, id, revision } = record;
    const parts = { ...context, keyring: caller.tenant.keyring };
    const entry = (ended: EndedApplications) => caller.recorder.ended(ended, details.name);
    const remove = (removal: Removal) => context.store.deleteApplication(tenant_id, id, revision, removal);
    return (await removeWith(parts, entry, remove)) || undefined;
  });
  return undefined;
};

/**
 * Replaces the application with the result of `change`, as its next revision, and with `regenerates` all its keys with
 * a new one. Resolves to the changed application, with the new key.
 */
function replace(
  id: string,
  caller: Caller,
  context: Context,
  change: (application: OpenedApplication) => OpenedApplication,
  regenerates = false,
): Promise<Application> {
  return untilSwapped(async () => {
    const found = await findApplication(id, caller, context);
    const { record, details } = change(found);
    const modified = { modified_by: caller.application.record.id, modified_at: context.clock.now() };
    const next = { ...record, ...modified, revision: record.revision + 1 };
    const kept = regenerates ? { ...details, keys_from: next.revision } : details;
    const changed = sealApplication(caller.tenant.keyring, next, kept);
    const made = { created_by: modified.modified_by, created_at: modified.modified_at };
    const newKey = regenerates ? makeApplicationKey(context, caller.tenant.keyring, next, made) : undefined;
    const reply = showApplication(changed, newKey?.key);
    const { revision } = changed.record;
    const result = { names: [details.name], issued: newKey && { key: newKey.key, id: newKey.record.id, revision } };
    const audit = caller.recorder.changedAuthority([record.id], revision, result);
    const swap = (removal?: Removal) => {
      const regenerated = newKey && removal && { key: newKey.record, removal };
      return context.store.replaceApplication(changed.record, record.revision, audit, regenerated);
    };
    const parts = { ...context, keyring: caller.tenant.keyring };
    const isReplaced = await (newKey ? removeWith(parts, (ended) => caller.recorder.ended(ended), swap) : swap());
    return isReplaced ? reply : undefined;
  });
}

/**
 * Throws 403 when an application adds permissions to itself. Only management applications can update applications; they
 * have no rules. They may grant permissions that they do not hold to other applications.
 */
function refuseWidening(held: readonly Permission[], wanted: readonly Permission[]): void {
  const added = wanted.filter((permission) => !held.includes(permission));
  if (added.length === 0) return;
  throw new Problem('permission_missing', {
    detail: `An application cannot grant itself permissions that it does not hold: ${added.join(', ')}.`,
  });
}
