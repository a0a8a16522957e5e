import type { Call, Client, Reply } from '../../contract/call.ts';
import type { Json, JsonObject } from '../../contract/json.ts';
import { UUID } from '../../contract/patterns.ts';
import { Fault } from '../../core/fault.ts';
import { JsonSyntaxError } from '../../core/json/json-syntax-error.ts';
import { parseJson } from '../../core/json/parse.ts';
import { stringifyJson } from '../../core/json/stringify.ts';
import { itemsOf, objectOf } from '../output/result-view.ts';
import { selectField } from '../output/select-field.ts';

const SIZE = 100;

/** The query parameter with the calling application of log entries. */
const ACTOR = 'actor_id';

const ACTOR_HINT = 'list them with `vault apps list`; name a deleted application by its id';

/**
 * Returns the name by which a call names an application: in its path, in its body, or as the actor of log entries.
 * Returns undefined for an id.
 */
export function applicationName(call: Call): string | undefined {
  const name = call.params['id'] ?? actorOf(call) ?? bodyOf(call)['application_id'];
  return typeof name !== 'string' || new RegExp(UUID).test(name) ? undefined : name;
}

/**
 * Resolves to the call with the application's id instead of its name, or to the problem of the
 * lookup. Rejects with the fault `not_found` for an unknown name, and with `usage` for an ambiguous name.
 */
export async function resolveApplication(client: Client, call: Call): Promise<Call | Reply> {
  const name = applicationName(call);
  if (name === undefined) return call;
  const found = await findByName(client, call.apiKey, name);
  if (found === undefined) {
    throw new Fault('not_found', 'no application has this id or name', {
      hint: actorOf(call) === undefined ? 'list them with `vault apps list`' : ACTOR_HINT,
    });
  }
  if ('status' in found) return found;
  const id = String(selectField(found.application, ['id']));
  if (call.params['id'] !== undefined) return { ...call, params: { ...call.params, id } };
  if (call.bodyText !== undefined) {
    return { ...call, bodyText: stringifyJson({ ...bodyOf(call), application_id: id }) };
  }
  return { ...call, query: call.query.map(([member, value]) => [member, member === ACTOR ? id : value] as const) };
}

function actorOf({ query }: Call): string | undefined {
  return query.find(([member]) => member === ACTOR)?.[1];
}

/** Returns the body of a call; an object without members for a malformed body, which the target reports. */
function bodyOf({ bodyText }: Call): JsonObject {
  try {
    return objectOf(bodyText);
  } catch (error) {
    if (error instanceof JsonSyntaxError) return {};
    throw error;
  }
}

/**
 * Resolves to the application with this name, to undefined if none has it, or to the problem of the lookup. Rejects
 * with the fault `usage` if several have it.
 */
async function findByName(
  client: Client,
  apiKey: string | undefined,
  name: string,
  hint = 'name the application by its id',
): Promise<{ readonly application: Json } | Reply | undefined> {
  const named = new Map<string, Json>();
  for (let page = 1, pages = 1; page <= pages; page += 1) {
    const query = Object.entries({ size: SIZE, page }).map(([member, value]) => [member, String(value)] as const);
    const reply = await client.call({ operation: 'listApplications', apiKey, params: {}, query });
    if (reply.status >= 400) return reply;
    const list = parseJson(reply.bodyText ?? '');
    pages = Number(selectField(list, ['pagination', 'total_pages']));
    for (const item of itemsOf(list, { list: true })) {
      if (selectField(item, ['name']) === name) named.set(String(selectField(item, ['id'])), item);
    }
  }
  if (named.size > 1) {
    throw new Fault('usage', `${named.size} applications have this name`, {
      hint,
      details: [...named.keys()],
    });
  }
  const [application] = named.values();
  return application === undefined ? undefined : { application };
}

/**
 * Resolves to a reply with the application that has the name in a call's body, or to the problem of the lookup; to
 * undefined if none has the name. Rejects with the fault `usage` if several have it.
 */
export async function existingApplication(client: Client, call: Call): Promise<Reply | undefined> {
  const { name } = bodyOf(call);
  if (typeof name !== 'string') return undefined;
  const found = await findByName(client, call.apiKey, name, 'rename or delete all but one');
  if (found === undefined || 'status' in found) return found;
  return { status: 200, bodyText: stringifyJson(found.application), traceId: '' };
}
