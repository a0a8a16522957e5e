import { OPERATIONS, type Operation, type OperationId } from '../../src/contract/operations.ts';
import { PERMISSIONS } from '../../src/contract/permissions.ts';
import { ALLOWED, holdsAnywhere } from './model-fuzz-access.ts';
import * as applications from './model-fuzz-applications.ts';
import {
  type Command,
  type Expected,
  isLive,
  iso,
  type Model,
  type ModelTenant,
  monthOf,
  problem,
  type Step,
} from './model-fuzz-state.ts';
import * as tokens from './model-fuzz-tokens.ts';
import type { PlainObject } from './model-fuzz-values.ts';

/** Finds the live application that owns the key, and its tenant (§5.2). */
function findCaller(model: Model, key: string | undefined, now: number) {
  for (const tenant of model.tenants.values()) {
    for (const caller of tenant.applications.values()) {
      const callerKey = caller.keys.find((each) => each.key === key);
      const isValid = callerKey && isLive(model, caller.expires_at, now) && isLive(model, callerKey.expires_at, now);
      if (isValid) return { tenant, caller, callerKey };
    }
  }
  return undefined;
}

const STEPS: Readonly<Record<OperationId, (step: Step) => Expected>> = {
  ...tokens.STEPS,
  ...applications.STEPS,
  getTenant: ({ tenant }) => ({ status: 200, body: showTenant(tenant) }),
  updateTenant,
  deleteTenant: ({ tenant, model }) => {
    model.tenants.delete(tenant.id);
    return { status: 204 };
  },
  getUsageReport: usageReport,
  getActivity: activity,
  listPermissions,
  listLogs: ({ tenant, model, actual }) => ({ status: 200, body: isOwnLog(actual, tenant, model) ? actual : {} }),
};

/** Answers a command and updates the state: first the key, then the permission, the call and the state. */
export function answer(model: Model, command: Command, now: number, actual: PlainObject): Expected {
  const found = findCaller(model, command.apiKey, now);
  if (!found) return problem(401, 'unauthenticated');
  const { tenant, caller, callerKey } = found;
  applications.use(callerKey, now);
  const minting = command.operation === 'createApplication' && caller.can_create_expiring_applications === true;
  const { permission }: Operation = OPERATIONS[command.operation];
  if (!minting && !holdsAnywhere(caller, permission)) return problem(403, 'permission_missing');
  const { flaw } = command;
  if (flaw) return problem(flaw.status, flaw.code, flaw.path === undefined ? undefined : [flaw.path]);
  return STEPS[command.operation]({ command, caller, callerKey, tenant, now, actual, model });
}

/**
 * Returns whether a page of the log contains only the tenant's own entries. The model keeps no log, because its
 * grouping and ids depend on timing. It does know the applications of other tenants.
 */
function isOwnLog(actual: PlainObject, tenant: ModelTenant, model: Model): boolean {
  const entries = actual['data'] as readonly PlainObject[];
  const others = [...model.tenants.values()].filter(({ id }) => id !== tenant.id);
  return entries.every(
    ({ tenant_id, actor_id }) =>
      tenant_id === tenant.id && !others.some(({ applications }) => applications.has(String(actor_id))),
  );
}

/** Lists the permissions of the model. Only the descriptions come from the product. */
function listPermissions({ command }: Step): Expected {
  const wanted = command.query.find(([name]) => name === 'application_type')?.[1];
  const rows = Object.entries(PERMISSIONS).map(([type, { allows: description }]) => {
    const application_types = ['private', 'public', 'management', 'expiring'].filter((each) =>
      ALLOWED[each]?.includes(type),
    );
    return { type, description, application_types };
  });
  const body = rows.filter(({ application_types }) => wanted === undefined || application_types.includes(wanted));
  return { status: 200, body };
}

function updateTenant({ command, caller, tenant, now }: Step): Expected {
  const { name, settings } = command.body ?? {};
  tenant.name = String(name);
  if (settings) tenant.settings = settings as PlainObject;
  tenant.modified_by = caller.id;
  tenant.modified_at = now;
  return { status: 200, body: showTenant(tenant) };
}

function showTenant(tenant: ModelTenant): PlainObject {
  const { id, owner_id, name, settings, created_at, modified_by, modified_at } = tenant;
  const created = {
    id,
    owner_id,
    name,
    settings: { deduplicate_tokens: 'false', ...settings },
    created_by: owner_id,
    created_at: iso(created_at),
  };
  return modified_by === undefined || modified_at === undefined
    ? created
    : { ...created, modified_by, modified_at: iso(modified_at) };
}

function activity({ tenant, now, command }: Step): Expected {
  const count = Number(command.query.find(([name]) => name === 'months')?.[1] ?? 12);
  const [year, month] = [new Date(now).getUTCFullYear(), new Date(now).getUTCMonth()];
  const months = Array.from({ length: count }, (_, at) => {
    const name = monthOf(Date.UTC(year, month - count + 1 + at));
    return { month: name, active_tokens: [...tenant.active].filter((each) => each.startsWith(`${name}/`)).length };
  });
  return { status: 200, body: { months } };
}

function usageReport({ tenant, now, model }: Step): Expected {
  const live = [...tenant.tokens.values()].filter(({ expires }) => isLive(model, expires?.instant, now));
  const metrics = [...tenant.lastCreated].map(([type, last]): [string, PlainObject] => [
    type,
    { count: live.filter((token) => token.type === type).length, last_created_at: iso(last) },
  ]);
  const month = monthOf(now);
  const token_report = {
    metrics_by_type: Object.fromEntries(metrics),
    included_monthly_active_tokens: model.includedActiveTokens,
    monthly_active_tokens: [...tenant.active].filter((each) => each.startsWith(`${month}/`)).length,
  };
  return { status: 200, body: { token_report } };
}
