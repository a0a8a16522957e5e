import type { Call, Client, Reply } from '../../contract/call.ts';
import { UUID } from '../../contract/patterns.ts';
import { Fault } from '../../core/fault.ts';
import { parseJson } from '../../core/json/parse.ts';
import { stringifyJson } from '../../core/json/stringify.ts';
import { asObject, itemsOf } from '../output/result-view.ts';
import { selectField } from '../output/select-field.ts';

const SIZE = 100;

/**
 * Resolves to the call with the application's id instead of its name, or to the problem of the
 * lookup. Rejects with the fault `not_found` for an unknown name, and with `usage` for an ambiguous name.
 */
export async function resolveApplication(client: Client, call: Call): Promise<Call | Reply> {
  const inPath = call.params['id'];
  const body = inPath === undefined ? asObject(parseJson(call.bodyText ?? '{}')) : undefined;
  const name = inPath ?? body?.['application_id'];
  if (typeof name !== 'string' || new RegExp(UUID).test(name)) return call;
  const ids: string[] = [];
  for (let page = 1, pages = 1; page <= pages; page += 1) {
    const query = Object.entries({ size: SIZE, page }).map(([member, value]) => [member, String(value)] as const);
    const reply = await client.call({ operation: 'listApplications', apiKey: call.apiKey, params: {}, query });
    if (reply.status >= 400) return reply;
    const list = parseJson(reply.bodyText ?? '');
    pages = Number(selectField(list, ['pagination', 'total_pages']));
    const found = itemsOf(list, { list: true }).filter((item) => selectField(item, ['name']) === name);
    ids.push(...found.map((item) => String(selectField(item, ['id']))));
  }
  const [id, ...others] = new Set(ids);
  if (id === undefined) {
    throw new Fault('not_found', 'no application has this id or name', { hint: 'list them with `vault apps list`' });
  }
  if (others.length > 0) {
    throw new Fault('usage', `${others.length + 1} applications have this name`, {
      hint: 'name the application by its id',
      details: [id, ...others],
    });
  }
  if (body === undefined) return { ...call, params: { ...call.params, id } };
  return { ...call, bodyText: stringifyJson({ ...body, application_id: id }) };
}
