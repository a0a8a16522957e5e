import type { Call, Client, Reply } from '../../contract/call.ts';
import type { Json, JsonObject } from '../../contract/json.ts';
import { OPERATIONS, type Operation } from '../../contract/operations.ts';
import { UUID } from '../../contract/schema.ts';
import { Fault } from '../../core/fault.ts';
import { JsonSyntaxError, parseJson } from '../../core/json/parse.ts';
import { stringifyJson } from '../../core/json/stringify.ts';
import { RefusedReply } from '../exit/refused-reply.ts';
import { report } from '../exit/report-failure.ts';
import { itemsOf, objectOf } from '../output/result-view.ts';
import { selectField } from '../output/select-field.ts';
import { pagesOf } from './list-all.ts';

const hintFor = ({ operation }: Call) =>
  `list them with \`vault apps list\`${operation === 'listLogs' ? '; name a deleted application by its id' : ''}`;

const DENIED = 'It is needed to find an application by its name; use its id.';

/** A place in a call that may name an application. */
interface Place {
  readonly read: (call: Call) => unknown;
  readonly write: (call: Call, id: string) => Call;
  /** Whether the place may hold the id of another record, too. */
  readonly isOpen?: (call: Call) => boolean;
}

/** The path, the body, and the filters of the log by caller and by record. */
const PLACES: readonly Place[] = [
  { read: ({ params }) => params['id'], write: (call, id) => ({ ...call, params: { ...call.params, id } }) },
  {
    read: (call) => bodyOf(call)['application_id'],
    write: (call, id) => ({ ...call, bodyText: stringifyJson({ ...bodyOf(call), application_id: id }) }),
  },
  inQuery('actor_id'),
  {
    ...inQuery('entity_id'),
    read: (call) => (OPEN_TYPES.includes(typeOf(call)) ? readQuery(call, 'entity_id') : undefined),
    isOpen: (call) => typeOf(call) === undefined,
  },
];

/** The types of records in the log that an application's name may select; `undefined` selects all types. */
const OPEN_TYPES: readonly (string | undefined)[] = ['application', undefined];

const typeOf = (call: Call) => readQuery(call, 'entity_type');

function readQuery({ query }: Call, name: string): string | undefined {
  return query.find(([member]) => member === name)?.[1];
}

function inQuery(name: string): Place {
  return {
    read: (call) => readQuery(call, name),
    write: (call, id) => ({
      ...call,
      query: call.query.map(([member, value]) => [member, member === name ? id : value] as const),
    }),
  };
}

function nameAt({ read }: Place, call: Call): string | undefined {
  const name = read(call);
  return typeof name !== 'string' || new RegExp(UUID).test(name) ? undefined : name;
}

/** Returns whether a call may contain the name of an application. */
export function mayNameApplication(call: Call): boolean {
  return PLACES.some((place) => nameAt(place, call) !== undefined);
}

/**
 * Resolves to the call with the ids of applications instead of their names. Rejects with `RefusedReply` for a denied
 * lookup, with the fault `not_found` for an unknown name, and with `usage` for an ambiguous or empty name.
 */
export async function resolveApplication(client: Client, call: Call): Promise<Call> {
  let resolved = call;
  for (const place of PLACES) {
    const name = nameAt(place, call);
    if (name === undefined) continue;
    if (name === '') throw new Fault('usage', 'the id or name of an application must not be empty');
    const isOpen = place.isOpen?.(call) ?? false;
    try {
      const found = await findByName(client, call.apiKey, name);
      if (found !== undefined) resolved = place.write(resolved, String(selectField(found, ['id'])));
      else if (!isOpen) throw new Fault('not_found', 'no application has this id or name', { hint: hintFor(call) });
    } catch (error) {
      if (!(error instanceof RefusedReply)) throw error;
      if (!isOpen)
        throw isOnlyForName(call, error.reply) ? withDetail(error.reply, (detail) => `${detail} ${DENIED}`) : error;
      if (error.reply.status === 403 && !(await hasEntries(client, call, name)))
        report('without application:read, --entity accepts only an id');
    }
  }
  return resolved;
}

/** Returns whether only the lookup of the name needs the permission that the caller lacks. */
function isOnlyForName({ operation }: Call, { status }: Reply): boolean {
  const { permission }: Operation = OPERATIONS[operation];
  return status === 403 && permission !== 'application:read';
}

/** Resolves to whether the log has an entry about a record with this id. Any caller can have put it there by a denied call. */
async function hasEntries(client: Client, call: Call, id: string): Promise<boolean> {
  const query = Object.entries({ entity_id: id, size: '1' });
  const reply = await client.call({ operation: 'listLogs', apiKey: call.apiKey, params: {}, query });
  return reply.status >= 400 || itemsOf(parseJson(reply.bodyText ?? ''), { list: true }).length > 0;
}

/** Returns the error of a reply with a changed detail of its problem. */
export function withDetail(reply: Reply, change: (detail: string) => string): RefusedReply {
  const problem = objectOf(reply.bodyText);
  return new RefusedReply({
    ...reply,
    bodyText: stringifyJson({ ...problem, detail: change(String(problem['detail'])) }),
  });
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
 * Resolves to the application with this name, or to undefined if none has it. Rejects with `RefusedReply`, and with the
 * fault `usage` if several have it.
 */
async function findByName(
  client: Client,
  apiKey: string | undefined,
  name: string,
  hint = 'name the application by its id',
): Promise<Json | undefined> {
  const named = new Map<string, Json>();
  for await (const page of pagesOf(client, { operation: 'listApplications', apiKey, params: {}, query: [] })) {
    for (const item of itemsOf(page, { list: true })) {
      if (selectField(item, ['name']) === name) named.set(String(selectField(item, ['id'])), item);
    }
  }
  if (named.size > 1) {
    throw new Fault('usage', `${named.size} applications have this name`, {
      hint,
      ids: [...named.keys()],
    });
  }
  return named.values().next().value;
}

/**
 * Resolves to the application that has the name in a call's body; to undefined if none has the name. Rejects with
 * `RefusedReply`, and with the fault `usage` if several have it.
 */
export async function existingApplication(client: Client, call: Call): Promise<Json | undefined> {
  const { name } = bodyOf(call);
  return typeof name === 'string' ? findByName(client, call.apiKey, name, 'rename or delete all but one') : undefined;
}
