import type { Call, Client } from '../../contract/call.ts';
import type { Json } from '../../contract/json.ts';
import { parseJson } from '../../core/json/parse.ts';
import { accepted } from '../exit/refused-reply.ts';
import type { ItemPrinter } from '../output/print-items.ts';
import { itemsOf } from '../output/result-view.ts';
import { selectField } from '../output/select-field.ts';
import { pagesOf } from './list-all.ts';

type Query = Call['query'];

/** How long the daemon waits for new entries before it replies, in seconds. The daemon accepts no more. */
const WAIT = '25';

/**
 * Prints the first page of a log, oldest entry first, and then new entries as they arrive. With `after` in the query,
 * it prints every entry after that one. Rejects with `RefusedReply` when a call fails.
 */
export async function followList(client: Client, call: Call, printer: ItemPrinter): Promise<never> {
  const filters = call.query.filter(([name]) => name !== 'after' && name !== 'size');
  let after = call.query.find(([name]) => name === 'after')?.[1];
  const ask = async (query: Query) => parseJson(accepted(await client.call({ ...call, query })).bodyText ?? '');

  for (let isFirst = true; ; isFirst = false) {
    // Get the newest entry first. If no entry up to it matches the filters, the next call starts after it.
    const newest = await ask([['size', '1']]);
    const waiting: Query = [...filters, ['after', after ?? '0.0'], ['wait', isFirst ? '0' : WAIT]];
    const isOnlyPage = isFirst && after === undefined;
    const pages = isOnlyPage ? [await ask(call.query)] : pagesOf(client, { ...call, query: waiting });
    const items: Json[] = [];
    for await (const page of pages) items.push(...itemsOf(page, { list: true }));
    await printer.print(items.toReversed());
    const last = selectField(items[0] ?? newest, items.length > 0 ? ['id'] : ['data', 0, 'id']);
    after = typeof last === 'string' ? last : after;
  }
}
