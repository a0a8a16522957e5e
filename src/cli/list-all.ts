import type { Call, Client } from '../contract/call.ts';
import type { Json } from '../contract/json.ts';
import { parseJson } from '../core/json/parse.ts';
import type { NameMember } from './derive/name-member.ts';
import type { ExitCode } from './exit-codes.ts';
import type { ItemPrinter } from './output/print-items.ts';
import { itemsOf } from './output/result-view.ts';
import { selectField } from './output/select-field.ts';
import { reportProblem } from './report-failure.ts';

const LARGEST_PAGE = '100';

/**
 * Walks all pages of a list and prints their items as they come. Pages are newest first: what is created meanwhile moves
 * items onto the next page, so an id that was printed is not printed again.
 */
export async function listAll(
  client: Client,
  call: Call,
  printer: ItemPrinter,
  nameMember: NameMember,
): Promise<ExitCode> {
  const sized = call.query.some(([name]) => name === 'size');
  const query = sized ? call.query : [...call.query, ['size', LARGEST_PAGE] as const];
  const printed = new Set<Json | undefined>();
  for (let page = 1; ; page += 1) {
    const reply = await client.call({ ...call, query: [...query, ['page', String(page)]] });
    if (reply.status >= 400) return reportProblem(reply, nameMember);
    const body = parseJson(reply.bodyText ?? '');
    const items = itemsOf(body, { list: true }).filter((item) => !printed.has(selectField(item, ['id'])));
    for (const item of items) printed.add(selectField(item, ['id']));
    await printer.print(items);
    if (page >= Number(selectField(body, ['pagination', 'total_pages']) ?? 0)) break;
  }
  await printer.end();
  return 0;
}
