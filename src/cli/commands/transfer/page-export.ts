import type { Client } from '../../../contract/call.ts';
import type { Json } from '../../../contract/json.ts';
import { parseJson } from '../../../core/json/parse.ts';
import type { Printable } from '../../../core/json/stringify.ts';
import { selectField } from '../../output/select-field.ts';
import { TransferRefused } from './transfer-refused.ts';

const LARGEST_PAGE = 100;

/** The members of a token, as a read shows it, that Create Token takes. */
const MEMBERS = ['id', 'type', 'data', 'containers', 'metadata', 'expires_at'] as const;

/**
 * Yields the tokens that an API key may read as rows of an export. Pages count from the newest token. A creation moves
 * tokens to a later page; the walk skips those that it has seen. A removal moves them to an earlier page, so the walk
 * restarts until a pass sees no removal. Throws `TransferRefused`.
 */
export async function* pageExport(
  client: Client,
  apiKey: string,
  onTotal: (total: number) => void,
): AsyncGenerator<readonly Readonly<Record<string, Printable | undefined>>[]> {
  const seen = new Set<string>();
  for (let removed = true; removed; ) {
    removed = false;
    let most = 0;
    for (let page = 1, pages = 1; page <= pages; page += 1) {
      const query = [
        ['size', String(LARGEST_PAGE)],
        ['page', String(page)],
      ] as const;
      const reply = await client.call({ operation: 'listTokens', apiKey, params: {}, query });
      if (reply.status !== 200) throw new TransferRefused(reply);
      const body = parseJson(reply.bodyText ?? '');
      const total = Number(selectField(body, ['pagination', 'total_items']));
      pages = Number(selectField(body, ['pagination', 'total_pages']));
      removed ||= total < most;
      most = Math.max(most, total);
      onTotal(most);
      const items = selectField(body, ['data']);
      yield (Array.isArray(items) ? items : []).flatMap((item: Json) => {
        // A slice of the response's text would keep all of it in memory.
        const id = Buffer.from(String(selectField(item, ['id']))).toString();
        if (seen.has(id)) return [];
        seen.add(id);
        return [Object.fromEntries(MEMBERS.map((member) => [member, selectField(item, [member])]))];
      });
    }
  }
}
