import type { Call, Client, Reply } from '../../contract/call.ts';
import type { Json, JsonObject } from '../../contract/json.ts';
import { stringifyJson } from '../../core/json/stringify.ts';
import { report } from '../exit/report-failure.ts';
import { asObject, objectOf } from '../output/result-view.ts';

const FLAG = 'can_create_expiring_applications';

/** Resolves to the application that a call changes; to undefined if the caller may not read it. */
export async function readBefore(client: Client, { apiKey, params }: Call): Promise<JsonObject | undefined> {
  const reply = await client.call({ operation: 'getApplication', apiKey, params, query: [] });
  return reply.status < 400 ? objectOf(reply.bodyText) : undefined;
}

/** Warns about the permissions and rules of an application that an update or an edit removed. */
export function warnOfRemoved(before: JsonObject | undefined, reply: Reply, hint = REPLACES_ALL): void {
  if (before === undefined) return;
  const removed = removedRights(before, objectOf(reply.bodyText));
  if (removed.length === 0) return;
  report(`the update removed rights of the application ${before['id']}:`, hint, removed);
}

const REPLACES_ALL = 'an update replaces all rights; name every permission and rule that stays';

/** Returns a line for each right that `before` has and `after` lacks. A rule with another priority is the same rule. */
function removedRights(before: JsonObject, after: JsonObject): readonly string[] {
  const kept = new Set(listOf(after, 'permissions'));
  const keptRules = new Set(listOf(after, 'rules').map(scopeOf));
  return [
    ...listOf(before, 'permissions')
      .filter((permission) => !kept.has(permission))
      .map((permission) => `permission ${permission}`),
    ...listOf(before, 'rules')
      .filter((rule) => !keptRules.has(scopeOf(rule)))
      .map(describeRule),
    ...(before[FLAG] === true && after[FLAG] !== true ? [FLAG] : []),
  ];
}

/** Returns the items of a list in an application; an empty list if it has none. */
export function listOf(application: JsonObject, member: 'permissions' | 'rules'): readonly Json[] {
  const list = application[member];
  return Array.isArray(list) ? list : [];
}

function scopeOf(rule: Json): string {
  const { description: _description, priority: _priority, ...scope } = asObject(rule) ?? {};
  return stringifyJson(scope);
}

/** Returns a rule in one line: `rule 1: container /pci/, reveal, token:read`. */
function describeRule(rule: Json): string {
  const { priority, container, conditions, transform, permissions } = asObject(rule) ?? {};
  const where = container === undefined ? `conditions ${stringifyJson(conditions ?? [])}` : `container ${container}`;
  return `rule ${priority}: ${where}, ${transform}, ${(Array.isArray(permissions) ? permissions : []).join(' ')}`;
}
