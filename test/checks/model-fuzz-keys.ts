import type { ModelApplication, ModelKey } from './model-fuzz-access.ts';
import { type Command, type Expected, isLive, iso, problem, type Step } from './model-fuzz-state.ts';
import type { PlainObject } from './model-fuzz-values.ts';

/** The operations on the API keys of an application (search-and-batches.md §9). */
export const KEY_STEPS = {
  createApplicationKey,
  listApplicationKeys,
  getApplicationKey,
  deleteApplicationKey,
} satisfies Partial<Record<Command['operation'], (step: Step) => Expected>>;

const API_KEY = /^key_[1-9A-HJ-NP-Za-km-z]{32}$/;
const DAY_MS = 86_400_000;
const MOST = 10;

/** Adds a key to an application. Takes its text from the reply if it is well-formed and new to the model. */
export function addKey(found: ModelApplication, { actual, tenant, caller, now }: Step, more: Partial<ModelKey> = {}) {
  const text = String(actual['key']);
  const known = [...tenant.applications.values()].some(({ keys }) => keys.some(({ key }) => key === text));
  found.keyVersion += 1;
  const key = API_KEY.test(text) && !known ? text : 'a new API key';
  const made: ModelKey = { key, version: found.keyVersion, created_by: caller.id, created_at: now, ...more };
  found.keys.unshift(made);
  return made;
}

/** Removes a key and the expiring applications that were created with it. */
export function endKeys({ tenant }: Step, found: ModelApplication, ended: readonly ModelKey[]): void {
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
  return { status: 201, body: { ...show(made), key: made.key } };
}

function listApplicationKeys(step: Step): Expected {
  const found = find(step);
  if (!found) return problem(404, 'application_not_found');
  const listed = (Array.isArray(step.actual) ? step.actual : []) as readonly PlainObject[];
  const keys = found.keys.filter(({ expires_at }) => isLive(step.model, expires_at, step.now));
  // A key that was made with its application has shown its id nowhere else.
  for (const key of keys) key.id ??= listed.find(({ version }) => version === String(key.version))?.['id'] as string;
  return { status: 200, body: keys.map(show) };
}

function getApplicationKey(step: Step): Expected {
  const found = findKey(step);
  return 'status' in found ? found : { status: 200, body: show(found.key) };
}

function deleteApplicationKey(step: Step): Expected {
  const found = findKey(step);
  if ('status' in found) return found;
  endKeys(step, found.application, [found.key]);
  return { status: 204 };
}

/** Finds the live application that a call names. */
export function find({ command, tenant, now, model }: Step): ModelApplication | undefined {
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

function show({ id = '', version, created_by, created_at, expires_at, used }: ModelKey): PlainObject {
  return {
    ...{ id, version: String(version), created_by, created_at: iso(created_at) },
    ...(expires_at !== undefined && { expires_at: iso(expires_at) }),
    ...(used !== undefined && { last_used_on: used }),
  };
}

/** Returns an end for a new key: mostly none, sometimes soon, seldom in the past. */
export const ENDS: readonly (number | undefined)[] = [undefined, undefined, undefined, 30_000, 3_600_000, DAY_MS, -1];
