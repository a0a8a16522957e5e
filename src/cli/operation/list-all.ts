import type { Call, Client } from '../../contract/call.ts';
import type { Json } from '../../contract/json.ts';
import { OPERATIONS, type Operation } from '../../contract/operations.ts';
import { parseJson } from '../../core/json/parse.ts';
import { stringifyJson } from '../../core/json/stringify.ts';
import type { NameMember } from '../derive/name-member.ts';
import type { ExitCode } from '../exit/exit-codes.ts';
import { reportProblem } from '../exit/report-failure.ts';
import type { ItemPrinter } from '../output/print-items.ts';
import { itemsOf } from '../output/result-view.ts';
import { selectField } from '../output/select-field.ts';

const MAX_PAGE_SIZE = 100;

/**
 * Prints the items of all pages of a list as they arrive. Prints an id only once: numbered pages start with the newest
 * item, so a new item moves another one to the next page. Omits items that are not wanted. Resolves to the exit code.
 */
export async function listAll(
  client: Client,
  call: Call,
  printer: ItemPrinter,
  nameMember: NameMember,
  isWanted: (item: Json) => boolean = () => true,
): Promise<ExitCode> {
  const row: Operation = OPERATIONS[call.operation];
  const printed = row.cli.walk === undefined ? new Set<Json | undefined>() : undefined;
  const walk = row.cli.walk === undefined ? walkByNumber(call) : walkByCursor({ ...call, operation: row.cli.walk });
  for (let step = walk.next(); !step.done; ) {
    const reply = await client.call(step.value);
    if (reply.status >= 400) return reportProblem(reply, nameMember);
    const body = parseJson(reply.bodyText ?? '');
    const items = itemsOf(body, { list: true }).filter((item) => !printed?.has(selectField(item, ['id'])));
    for (const item of items) printed?.add(selectField(item, ['id']));
    await printer.print(items.filter(isWanted));
    step = walk.next(body);
  }
  await printer.end();
  return 0;
}

function* walkByCursor(call: Call): Generator<Call, void, Json> {
  for (let start: string | undefined; ; ) {
    const reply: Json = yield withMembers(call, { size: MAX_PAGE_SIZE, ...(start !== undefined && { start }) });
    const next = selectField(reply, ['pagination', 'next']);
    if (typeof next !== 'string') return;
    start = next;
  }
}

function* walkByNumber(call: Call): Generator<Call, void, Json> {
  for (let page = 1; ; page += 1) {
    const reply: Json = yield withMembers(call, { size: MAX_PAGE_SIZE, page });
    if (page >= Number(selectField(reply, ['pagination', 'total_pages']) ?? 0)) return;
  }
}

/** Returns the call with members added to its query or body. Keeps members that the user typed, such as `size`. */
function withMembers(call: Call, members: Readonly<Record<string, string | number>>): Call {
  if (call.bodyText !== undefined) {
    const body = parseJson(call.bodyText) as Readonly<Record<string, Json>>;
    return { ...call, bodyText: stringifyJson({ ...members, ...body }) };
  }
  const typed = new Set(call.query.map(([name]) => name));
  const added = Object.entries(members).filter(([name]) => !typed.has(name));
  return { ...call, query: [...call.query, ...added.map(([name, value]) => [name, String(value)] as const)] };
}
