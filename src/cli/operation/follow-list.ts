import type { Call, Client } from '../../contract/call.ts';
import type { Json } from '../../contract/json.ts';
import { parseJson } from '../../core/json/parse.ts';
import type { NameMember } from '../derive/name-member.ts';
import type { ExitCode } from '../exit/exit-codes.ts';
import { reportProblem } from '../exit/report-failure.ts';
import type { ItemPrinter } from '../output/print-items.ts';
import { itemsOf } from '../output/result-view.ts';
import { selectField } from '../output/select-field.ts';

type Query = Call['query'];

/** How long the daemon waits for new entries before it replies, in seconds. The daemon accepts no more. */
const WAIT = '25';
const MAX_PAGE_SIZE = '100';

/**
 * Prints the first page of a log, oldest entry first, and then new entries as they arrive. With `after` in the query,
 * it prints every entry after that one. Resolves to the exit code of the first call that fails.
 */
export async function followList(
  client: Client,
  call: Call,
  printer: ItemPrinter,
  nameMember: NameMember,
): Promise<ExitCode> {
  const filters = call.query.filter(([name]) => name !== 'after' && name !== 'size');
  let after = call.query.find(([name]) => name === 'after')?.[1];

  /** Resolves to a page, or to the exit code of its problem. */
  async function ask(query: Query): Promise<{ readonly page: Json; readonly exit?: ExitCode }> {
    const reply = await client.call({ ...call, query });
    if (reply.status < 400) return { page: parseJson(reply.bodyText ?? '') };
    return { page: null, exit: reportProblem(reply, nameMember) };
  }

  for (let isFirst = true; ; isFirst = false) {
    // Get the newest entry first. If no entry up to it matches the filters, the next call starts after it.
    const newest = await ask([['size', '1']]);
    if (newest.exit !== undefined) return newest.exit;
    const onlyPage = isFirst && after === undefined;
    const query: Query = onlyPage
      ? call.query
      : [...filters, ['size', MAX_PAGE_SIZE], ['after', after ?? '0.0'], ['wait', isFirst ? '0' : WAIT]];
    const items: Json[] = [];
    for (let cursor: Query = []; ; ) {
      const { page, exit } = await ask([...query, ...cursor]);
      if (exit !== undefined) return exit;
      items.push(...itemsOf(page, { list: true }));
      const next = selectField(page, ['pagination', 'next']);
      if (onlyPage || typeof next !== 'string') break;
      cursor = [['start', next]];
    }
    await printer.print(items.toReversed());
    const last = selectField(items[0] ?? newest.page, items.length > 0 ? ['id'] : ['data', 0, 'id']);
    after = typeof last === 'string' ? last : after;
  }
}
