import type { Call, Client, Reply } from '../contract/call.ts';
import { UUID } from '../contract/patterns.ts';
import { Fault } from '../core/fault.ts';
import { parseJson } from '../core/json/parse.ts';
import { stringifyJson } from '../core/json/stringify.ts';
import { asObject, itemsOf } from './output/result-view.ts';
import { selectField } from './output/select-field.ts';

const SIZE = 100;

/** The id or name of the application in a call, and a function that returns the call with another id. */
interface Named {
  readonly name: string;
  readonly withId: (id: string) => Call;
}

function namedIn(call: Call): Named | undefined {
  const { id } = call.params;
  if (id !== undefined) return { name: id, withId: (found) => ({ ...call, params: { ...call.params, id: found } }) };
  const body = asObject(parseJson(call.bodyText ?? '{}'));
  const name = body?.['application_id'];
  if (body === undefined || typeof name !== 'string') return undefined;
  return { name, withId: (found) => ({ ...call, bodyText: stringifyJson({ ...body, application_id: found }) }) };
}

/**
 * Resolves to the call with the application's id instead of its name, or to the problem of the
 * lookup. Rejects with the fault `not_found` for an unknown name, and with `usage` for an ambiguous name.
 */
export async function findApplication(client: Client, call: Call): Promise<Call | Reply> {
  const named = namedIn(call);
  if (named === undefined || new RegExp(UUID).test(named.name)) return call;
  const { name } = named;
  const ids: string[] = [];
  for (let page = 1, pages = 1; page <= pages; page += 1) {
    const query = Object.entries({ size: SIZE, page }).map(([member, value]) => [member, String(value)] as const);
    const reply = await client.call({ operation: 'listApplications', apiKey: call.apiKey, params: {}, query });
    if (reply.status >= 400) return reply;
    const body = parseJson(reply.bodyText ?? '');
    pages = Number(selectField(body, ['pagination', 'total_pages']));
    const found = itemsOf(body, { list: true }).filter((item) => selectField(item, ['name']) === name);
    ids.push(...found.map((item) => String(selectField(item, ['id']))));
  }
  const [id, ...others] = new Set(ids);
  if (id === undefined) {
    throw new Fault('not_found', 'no application has this id or name', { hint: 'list them with `vault apps list`' });
  }
  if (others.length === 0) return named.withId(id);
  throw new Fault('usage', `${others.length + 1} applications have this name`, {
    hint: 'name the application by its id',
    details: [id, ...others],
  });
}
