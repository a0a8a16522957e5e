import type { Call, Client } from '../../contract/call.ts';
import type { OperationId } from '../../contract/operations.ts';
import { confirmLoss } from '../credential/prompt.ts';
import { objectOf } from '../output/result-view.ts';

/** The operations that read the records which a consequence names. The id of a token is its only name. */
const READS: Readonly<Record<string, OperationId | undefined>> = {
  token: undefined,
  application: 'getApplication',
  tenant: 'getTenant',
};

const MAX_NAMED = 10;

/**
 * Asks for confirmation of calls of one operation. `consequence` names their records as `{token}`, `{application}` or
 * `{tenant}`. The question names each record as typed or, with a client, by its name and id. Rejects with the fault
 * `usage` when the answer is no, or without a terminal.
 */
export async function confirmCalls(consequence: string, calls: readonly Call[], client?: Client): Promise<void> {
  const [, kind = ''] = /\{(token|application|tenant)\}/.exec(consequence) ?? [];
  const named = await Promise.all(calls.slice(0, MAX_NAMED).map((call) => nameOf(kind, call, client)));
  const others = calls.length - named.length;
  const listed = joinWords(others > 0 ? [...named, `${others} more`] : named);
  const records = `the ${kind}${calls.length > 1 ? 's' : ''}${listed && ` ${listed}`}`;
  await confirmLoss(
    consequence.replace(/\{(\w+)\}/g, (_all, word: string) =>
      word === kind ? records : (calls[0]?.params[word] ?? ''),
    ),
  );
}

/** Resolves to the name and the id of the record of a call; to the id as typed if the caller may not read it. */
async function nameOf(kind: string, { apiKey, params }: Call, client: Client | undefined): Promise<string> {
  const { id } = params;
  const operation = READS[kind];
  if (client === undefined || operation === undefined) return id ?? '';
  const reply = await client.call({ operation, apiKey, params: id === undefined ? {} : { id }, query: [] });
  if (reply.status >= 400) return id ?? '';
  const record = objectOf(reply.bodyText);
  return `${record['name']} (${record['id']})`;
}

function joinWords(words: readonly string[]): string {
  return [words.slice(0, -1).join(', '), ...words.slice(-1)].filter((word) => word !== '').join(' and ');
}
