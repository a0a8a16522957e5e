import {
  applicationFlaws,
  holdsAnywhere,
  type ModelApplication,
  type ModelKey,
  type ModelRule,
  readsAll,
  transformFor,
  typelessFlaws,
} from './model-fuzz-access.ts';
import { type Command, type Expected, isLive, iso, page, problem, type Step } from './model-fuzz-state.ts';
import type { Plain, PlainObject } from './model-fuzz-values.ts';

/** The operations on applications (§4.2) and their API keys (search-and-batches.md §9). */
export const STEPS = {
  createApplication,
  listApplications,
  getApplicationByKey: ({ caller }: Step): Expected => ({ status: 200, body: show(caller) }),
  getApplication,
  explainAccess,
  measureReach,
  updateApplication,
  regenerateApplicationKey,
  deleteApplication,
  createApplicationKey,
  listApplicationKeys,
  getApplicationKey,
  deleteApplicationKey,
} satisfies Partial<Record<Command['operation'], (step: Step) => Expected>>;

/** Permissions that are needed in every container (decisions §6). */
const WRITING: readonly string[] = ['token:create', 'token:update', 'token:delete'];

const MINUTE = 60_000;

type Definition = Pick<ModelApplication, 'name' | 'permissions' | 'rules' | 'can_create_expiring_applications'>;

function createApplication(step: Step): Expected {
  const { command, caller, tenant, now, actual } = step;
  const type = String(command.body?.['type']);
  const wanted = definitionOf(command.body ?? {});
  const flaws = applicationFlaws(type, wanted);
  if (flaws.length > 0) return problem(400, 'invalid_request', flaws);
  const hasKey = command.body?.['create_key'] !== false;
  if (type === 'expiring' && !hasKey) return problem(400, 'invalid_request', ['create_key']);
  const until = command.body?.['expires_at'];
  if (type !== 'expiring' && typeof until === 'string') return problem(400, 'invalid_request', ['expires_at']);
  if (!holdsAnywhere(caller, 'application:create')) {
    if (type !== 'expiring') return problem(403, 'permission_missing');
    if (!isWithinDelegation(wanted, step)) return problem(403, 'no_governing_rule');
  }
  const end = typeof until === 'string' ? Date.parse(until) : now + MINUTE;
  const { callerKey } = step;
  const expires_at = Math.min(end, callerKey.expires_at ?? end);
  const application: ModelApplication = {
    ...wanted,
    id: String(actual['id']),
    tenant_id: tenant.id,
    type,
    created_by: caller.id,
    created_at: now,
    ...(type === 'expiring' && { expires_at }),
    parent: type === 'expiring' ? caller : undefined,
    parentKey: type === 'expiring' ? callerKey : undefined,
    keys: [],
    keyVersion: 0,
  };
  if (tenant.applications.has(application.id)) return problem(500, 'an id of its own is expected');
  const made = hasKey ? addKey(application, step) : undefined;
  tenant.applications.set(application.id, application);
  return { status: 201, body: { ...show(application), ...(made && { key: made.key }) } };
}

function listApplications({ command, tenant, now, model }: Step): Expected {
  const valuesOf = (wanted: string) =>
    command.query.filter(([name]) => name === wanted).map(([, value]) => value.toLowerCase());
  const [ids, types] = [valuesOf('id'), valuesOf('type')];
  const found = [...tenant.applications.values()].filter(
    ({ id, type, expires_at }) =>
      isLive(model, expires_at, now) &&
      (ids.length === 0 || ids.includes(id)) &&
      (types.length === 0 || types.includes(type)),
  );
  return { status: 200, body: page(Object.fromEntries(command.query), found, show).body };
}

function getApplication(step: Step): Expected {
  const { now, model } = step;
  const found = find(step);
  if (!found) return problem(404, 'application_not_found');
  const live = childrenOf(found, step).filter(({ expires_at }) => isLive(model, expires_at, now));
  return { status: 200, body: { ...show(found), expiring_applications: live.length } };
}

/** Checks what each permission allows, but not the wording of the explanation. */
function explainAccess(step: Step): Expected {
  const { command, tenant, now, model, actual } = step;
  const { application_id, token_id } = command.body ?? {};
  const asked = find({ ...step, command: { ...command, id: String(application_id) } });
  if (!asked) return problem(404, 'application_not_found');
  const token = tenant.tokens.get(String(token_id));
  if (!token || !isLive(model, token.expires?.instant, now)) return problem(404, 'token_not_found');
  const explained = (actual['permissions'] ?? []) as readonly PlainObject[];
  const isTrue = explained.every(({ permission, allowed, transform }) => {
    const granted = transformFor(asked, String(permission), token);
    const inAll = token.containers.every((each) =>
      transformFor(asked, String(permission), { ...token, containers: [each] }),
    );
    const isRead = permission !== 'token:search' || transformFor(asked, 'token:read', token) !== undefined;
    const may = granted !== undefined && isRead && (inAll || !WRITING.includes(String(permission)));
    return allowed === may && transform === (may ? granted : undefined);
  });
  return { status: 200, body: isTrue && explained.length === WRITING.length + 3 ? actual : {} };
}

/** Checks how many tokens each transform shows, but not the division by rules. */
function measureReach(step: Step): Expected {
  const { command, tenant, now, model, actual } = step;
  const asked = find({ ...step, command: { ...command, id: String(command.body?.['application_id']) } });
  if (!asked) return problem(404, 'application_not_found');
  const parts = (actual['reach'] ?? []) as readonly PlainObject[];
  const live = [...tenant.tokens.values()].filter(({ expires }) => isLive(model, expires?.instant, now));
  const isTrue = [undefined, 'redact', 'mask', 'reveal'].every((transform) => {
    const counted = parts.filter((part) => part['transform'] === transform).map(({ tokens }) => Number(tokens));
    const shown = live.filter((token) => transformFor(asked, 'token:read', token) === transform);
    return counted.reduce((sum, tokens) => sum + tokens, 0) === shown.length;
  });
  return { status: 200, body: isTrue ? actual : {} };
}

function updateApplication(step: Step): Expected {
  const found = find(step);
  const wanted = definitionOf(step.command.body ?? {});
  const typeless = typelessFlaws(wanted);
  if (typeless.length > 0) return problem(400, 'invalid_request', typeless);
  if (!found) return problem(404, 'application_not_found');
  // Clients send `false` for every type.
  if (found.type !== 'private' && wanted.can_create_expiring_applications === false) {
    wanted.can_create_expiring_applications = undefined;
  }
  const flaws = applicationFlaws(found.type, wanted);
  if (flaws.length > 0) return problem(400, 'invalid_request', flaws);
  const isWidened = wanted.permissions.some((permission) => !found.permissions.includes(permission));
  if (found === step.caller && isWidened) return problem(403, 'permission_missing');
  Object.assign(found, wanted, { modified_by: step.caller.id, modified_at: step.now });
  return { status: 200, body: show(found) };
}

function regenerateApplicationKey(step: Step): Expected {
  const found = find(step);
  if (!found) return problem(404, 'application_not_found');
  const { now, caller } = step;
  endKeys(step, found, found.keys);
  Object.assign(found, { modified_by: caller.id, modified_at: now });
  return { status: 200, body: { ...show(found), key: addKey(found, step).key } };
}

function deleteApplication(step: Step): Expected {
  const found = find(step);
  if (!found) return problem(404, 'application_not_found');
  for (const { id } of [found, ...childrenOf(found, step)]) step.tenant.applications.delete(id);
  return { status: 204 };
}

/** Returns the expiring applications that an application created and that end with its key. */
function childrenOf(found: ModelApplication, { tenant }: Step): readonly ModelApplication[] {
  return [...tenant.applications.values()].filter(({ parent }) => parent === found);
}

/** Returns whether the creator reaches everything that it grants, at least by the same transform (decisions §6). */
function isWithinDelegation({ permissions, rules }: Definition, { caller, tenant, now, model }: Step): boolean {
  if (permissions.length > 0 && !readsAll(caller, '/', 'mask')) return false;
  return rules.every(({ conditions = [], transform }) => {
    if (readsAll(caller, '/', transform)) return true;
    return conditions.some(({ attribute, operator, value }) => {
      if (attribute === 'container') return readsAll(caller, value, transform);
      const token = operator === 'equals' ? tenant.tokens.get(value) : undefined;
      if (!token || !isLive(model, token.expires?.instant, now)) return false;
      const own = transformFor(caller, 'token:read', token);
      return (
        own !== undefined &&
        ['redact', 'mask', 'reveal'].indexOf(own) >= ['redact', 'mask', 'reveal'].indexOf(transform)
      );
    });
  });
}

function definitionOf(body: PlainObject): Definition {
  const flag = body['can_create_expiring_applications'];
  return {
    name: String(body['name']),
    permissions: (body['permissions'] ?? []) as readonly string[],
    rules: ((body['rules'] ?? []) as readonly PlainObject[]).map(lowerCasedRule),
    can_create_expiring_applications: typeof flag === 'boolean' ? flag : undefined,
  };
}

function lowerCasedRule({ container, conditions, ...rest }: PlainObject): ModelRule {
  const lower = (value: Plain | undefined) => String(value).toLowerCase();
  const rule = {
    ...rest,
    ...(typeof container === 'string' && { container: lower(container) }),
    ...(Array.isArray(conditions) && {
      conditions: conditions.map((condition: PlainObject) =>
        condition['attribute'] === 'container' ? { ...condition, value: lower(condition['value']) } : condition,
      ),
    }),
  };
  return rule as ModelRule & typeof rule;
}

/** Returns the application as §2.4 defines it, without the key. */
function show(application: ModelApplication): PlainObject {
  const { created_at, modified_at, expires_at, can_create_expiring_applications: flag } = application;
  const { id, tenant_id, name, type, permissions, created_by, modified_by } = application;
  const rules = application.rules.map((rule) => rule as ModelRule & PlainObject);
  return {
    ...{ id, tenant_id, name, type, permissions, rules, created_by, created_at: iso(created_at) },
    ...(modified_by !== undefined && { modified_by }),
    ...(modified_at !== undefined && { modified_at: iso(modified_at) }),
    ...(expires_at !== undefined && { expires_at: iso(expires_at) }),
    ...(flag !== undefined && { can_create_expiring_applications: flag }),
  };
}

const API_KEY = /^key_[1-9A-HJ-NP-Za-km-z]{32}$/;
const DAY_MS = 86_400_000;
const MOST = 10;

/** Adds a key to an application. Takes its text from the reply if it is well-formed and new to the model. */
function addKey(found: ModelApplication, { actual, tenant, caller, now }: Step, more: Partial<ModelKey> = {}) {
  const text = String(actual['key']);
  const known = [...tenant.applications.values()].some(({ keys }) => keys.some(({ key }) => key === text));
  found.keyVersion += 1;
  const key = API_KEY.test(text) && !known ? text : 'a new API key';
  const made: ModelKey = { key, version: found.keyVersion, created_by: caller.id, created_at: now, ...more };
  found.keys.unshift(made);
  return made;
}

/** Removes a key and the expiring applications that were created with it. */
function endKeys({ tenant }: Step, found: ModelApplication, ended: readonly ModelKey[]): void {
  found.keys = found.keys.filter((each) => !ended.includes(each));
  for (const { id, parentKey } of tenant.applications.values()) {
    if (parentKey !== undefined && ended.includes(parentKey)) tenant.applications.delete(id);
  }
}

export function use(key: ModelKey, now: number): void {
  const day = new Date(Math.max(now, key.created_at)).toISOString().slice(0, 10);
  if (key.used === undefined || day > key.used) key.used = day;
}

function createApplicationKey(step: Step): Expected {
  const { command, now, model } = step;
  const until = command.body?.['expires_at'];
  const end = typeof until === 'string' ? Date.parse(until) : undefined;
  if (end !== undefined && end <= now) return problem(400, 'invalid_request', ['expires_at']);
  const found = find(step);
  if (!found) return problem(404, 'application_not_found');
  if (found.type === 'expiring') return problem(400, 'invalid_request', ['id']);
  const live = found.keys.filter(({ expires_at }) => isLive(model, expires_at, now));
  if (live.length >= MOST) return problem(409, 'too_many_keys');
  const made = addKey(found, step, { id: String(step.actual['id']), expires_at: end });
  return { status: 201, body: { ...showKey(made), key: made.key } };
}

function listApplicationKeys(step: Step): Expected {
  const found = find(step);
  if (!found) return problem(404, 'application_not_found');
  const listed = (Array.isArray(step.actual) ? step.actual : []) as readonly PlainObject[];
  const keys = found.keys.filter(({ expires_at }) => isLive(step.model, expires_at, step.now));
  // A key that was made with its application has shown its id nowhere else.
  for (const key of keys) key.id ??= listed.find(({ version }) => version === String(key.version))?.['id'] as string;
  return { status: 200, body: keys.map(showKey) };
}

function getApplicationKey(step: Step): Expected {
  const found = findKey(step);
  return 'status' in found ? found : { status: 200, body: showKey(found.key) };
}

function deleteApplicationKey(step: Step): Expected {
  const found = findKey(step);
  if ('status' in found) return found;
  endKeys(step, found.application, [found.key]);
  return { status: 204 };
}

function find({ command, tenant, now, model }: Step): ModelApplication | undefined {
  const found = tenant.applications.get((command.id ?? '').toLowerCase());
  return found && isLive(model, found.expires_at, now) ? found : undefined;
}

function findKey(step: Step) {
  const application = find(step);
  if (!application) return problem(404, 'application_not_found');
  const { command, model, now } = step;
  const key = application.keys.find(({ id }) => id !== undefined && id === command.keyId);
  return key && isLive(model, key.expires_at, now) ? { application, key } : problem(404, 'key_not_found');
}

function showKey({ id = '', version, created_by, created_at, expires_at, used }: ModelKey): PlainObject {
  return {
    ...{ id, version: String(version), created_by, created_at: iso(created_at) },
    ...(expires_at !== undefined && { expires_at: iso(expires_at) }),
    ...(used !== undefined && { last_used_on: used }),
  };
}

/** Returns an end for a new key: mostly none, sometimes soon, seldom in the past. */
export const ENDS: readonly (number | undefined)[] = [undefined, undefined, undefined, 30_000, 3_600_000, DAY_MS, -1];
