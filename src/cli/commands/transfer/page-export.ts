import type { Call, Client } from '../../../contract/call.ts';
import type { Json } from '../../../contract/json.ts';
import type { OperationId } from '../../../contract/operations.ts';
import { parseJson } from '../../../core/json/parse.ts';
import type { Printable } from '../../../core/json/stringify.ts';
import { selectField } from '../../output/select-field.ts';
import { TransferRefused } from './transfer-refused.ts';

const MAX_PAGE_SIZE = '100';

/** The members of a token in a reply that Create Token accepts, too. */
const MEMBERS = ['id', 'type', 'data', 'containers', 'metadata', 'expires_at'] as const;

/**
 * Yields pages of the tokens that an API key may read, as rows of an export. Pages by cursor, so each token appears
 * only once even if others are deleted meanwhile. Throws `TransferRefused`.
 */
export async function* pageExport(
  client: Client,
  apiKey: string,
  onTotal: (total: number) => void,
): AsyncGenerator<readonly Readonly<Record<string, Printable | undefined>>[]> {
  const ask = async (operation: OperationId, query: Call['query']): Promise<Json> => {
    const reply = await client.call({ operation, apiKey, params: {}, query });
    if (reply.status !== 200) throw new TransferRefused(reply);
    return parseJson(reply.bodyText ?? '');
  };
  onTotal(Number(selectField(await ask('listTokens', [['size', '1']]), ['pagination', 'total_items'])));
  for (let next: readonly (readonly [string, string])[] = [], isLast = false; !isLast; ) {
    const page = await ask('listTokensByCursor', [['size', MAX_PAGE_SIZE], ...next]);
    const start = selectField(page, ['pagination', 'next']);
    isLast = typeof start !== 'string';
    next = [['start', String(start)]];
    const items = selectField(page, ['data']);
    yield (Array.isArray(items) ? items : []).map((item: Json) =>
      Object.fromEntries(MEMBERS.map((member) => [member, selectField(item, [member])])),
    );
  }
}
