import type { Call, Client, Reply } from '../contract/call.ts';
import { UUID } from '../contract/patterns.ts';
import { Fault } from '../core/fault.ts';
import { parseJson } from '../core/json/parse.ts';
import { itemsOf } from './output/result-view.ts';
import { selectField } from './output/select-field.ts';

const SIZE = 100;

/**
 * Returns the call with the id of the application that its path names, or the problem that kept it from being found. Throws the
 * faults `not_found` and `usage` for a name that no application has, and one that several have.
 */
export async function findApplication(client: Client, call: Call): Promise<Call | Reply> {
  const name = call.params['id'] ?? '';
  if (new RegExp(UUID).test(name)) return call;
  const ids: string[] = [];
  for (let page = 1, pages = 1; page <= pages; page += 1) {
    const query = Object.entries({ size: SIZE, page }).map(([member, value]) => [member, String(value)] as const);
    const reply = await client.call({ operation: 'listApplications', apiKey: call.apiKey, params: {}, query });
    if (reply.status >= 400) return reply;
    const body = parseJson(reply.bodyText ?? '');
    pages = Number(selectField(body, ['pagination', 'total_pages']));
    const named = itemsOf(body, { list: true }).filter((item) => selectField(item, ['name']) === name);
    ids.push(...named.map((item) => String(selectField(item, ['id']))));
  }
  const [id, ...others] = new Set(ids);
  if (id === undefined) {
    throw new Fault('not_found', 'no application has this id or name', { hint: '`vault apps list` shows them' });
  }
  if (others.length === 0) return { ...call, params: { ...call.params, id } };
  throw new Fault('usage', `${others.length + 1} applications have this name`, {
    hint: 'name the application by its id',
    details: [id, ...others],
  });
}
