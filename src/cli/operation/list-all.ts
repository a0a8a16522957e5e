import type { Call, Client } from '../../contract/call.ts';
import type { Json } from '../../contract/json.ts';
import { OPERATIONS, type Operation } from '../../contract/operations.ts';
import { parseJson } from '../../core/json/parse.ts';
import { stringifyJson } from '../../core/json/stringify.ts';
import { accepted } from '../exit/refused-reply.ts';
import type { ItemPrinter } from '../output/print-items.ts';
import { asObject, itemsOf, objectOf } from '../output/result-view.ts';
import { selectField } from '../output/select-field.ts';

const MAX_PAGE_SIZE = 100;

/**
 * Prints the items of all pages of a list as they arrive. Prints an id only once: numbered pages start with the newest
 * item, so a new item moves another one to the next page. Omits items that are not wanted.
 */
export async function listAll(
  client: Client,
  call: Call,
  printer: ItemPrinter,
  isWanted: (item: Json) => boolean = () => true,
): Promise<void> {
  const { cli }: Operation = OPERATIONS[call.operation];
  const printed = cli.walk === undefined ? new Set<Json | undefined>() : undefined;
  for await (const page of pagesOf(client, call)) {
    const items = itemsOf(page, { list: true }).filter((item) => !printed?.has(selectField(item, ['id'])));
    for (const item of items) printed?.add(selectField(item, ['id']));
    await printer.print(items.filter(isWanted));
  }
  await printer.end();
}

/** Yields the pages of a list, by cursor if the operation can. Throws `RefusedReply`. */
export async function* pagesOf(client: Client, call: Call): AsyncGenerator<Json> {
  const { cli }: Operation = OPERATIONS[call.operation];
  const operation = cli.walk ?? call.operation;
  for (let next: Members | undefined = {}; next !== undefined; ) {
    const reply = await client.call(withMembers({ ...call, operation }, { size: MAX_PAGE_SIZE, ...next }));
    const page = parseJson(accepted(reply).bodyText ?? '');
    yield page;
    const { next: start, page_number = 1, total_pages = 0 } = asObject(selectField(page, ['pagination']) ?? null) ?? {};
    const isLast = Number(page_number) >= Number(total_pages);
    next = typeof start === 'string' ? { start } : isLast ? undefined : { page: Number(page_number) + 1 };
  }
}

type Members = Readonly<Record<string, string | number>>;

/** Returns the call with members added to its query or body. Keeps members that the user typed, such as `size`. */
function withMembers(call: Call, members: Members): Call {
  if (call.bodyText !== undefined) {
    return { ...call, bodyText: stringifyJson({ ...members, ...objectOf(call.bodyText) }) };
  }
  const typed = new Set(call.query.map(([name]) => name));
  const added = Object.entries(members).filter(([name]) => !typed.has(name));
  return { ...call, query: [...call.query, ...added.map(([name, value]) => [name, String(value)] as const)] };
}
