import { decodeProblem } from '../../../client/decode-problem.ts';
import type { Call, Client, Reply } from '../../../contract/call.ts';
import { PROBLEMS } from '../../../contract/problems.ts';
import { loadedOnce } from '../../../core/loaded-once.ts';
import { type MemberErrors, memberLines } from '../../../core/problem.ts';
import { sleep } from '../../../core/timers.ts';
import { RefusedReply } from '../../exit/refused-reply.ts';
import { factsOf, type ImportRow, isSameToken, isWholeRequest } from './import-row.ts';
import { MASKED } from './read-rows.ts';

/** The maximum number of tries of a call while the vault is busy. */
const MAX_TRIES = 60;
/** The wait before the next try, in milliseconds, unless the vault names one. */
const PAUSE_MS = 500;

/** The statuses of failures that concern one row. Any other failure would affect every row, so it ends the import. */
const ROW_STATUSES: ReadonlySet<number> = new Set([400, 403, 404, 409, 413, 415]);
const BUSY: ReadonlySet<number> = new Set([429, 503]);

/** The number of rows of a rejected batch that are sent at the same time. */
const SINGLY_AT_ONCE = 32;

/** The outcome of a row. */
export type RowAnswer = 'created' | 'skipped' | RowError;

/** A row that the vault rejected, as a line of the error file describes it. */
export interface RowError {
  readonly line: number;
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly errors?: MemberErrors;
}

/** Returns the reason for a rejection in one line: the wrong members with their errors, or the problem's detail. */
export function rowReason({ detail, errors }: RowError): string {
  const members = memberLines(errors);
  return members.length === 0 ? detail : detail.replace(PROBLEMS.invalid_request.detail, () => members.join('; '));
}

/** Returns functions that create tokens from rows with an API key. */
export function rowSender(client: Client, apiKey: string) {
  const json = { apiKey, query: [], mediaType: 'application/json' };
  const patch = { ...json, mediaType: 'application/merge-patch+json', bodyText: '{"mask":null}' };
  const calls = {
    create: (bodyText: string): Call => ({ ...json, operation: 'createToken', params: {}, bodyText }),
    createAll: (rows: readonly ImportRow[]): Call => {
      const bodyText = `[${rows.map(({ body }) => body).join(',')}]`;
      return { ...json, operation: 'tokenize', params: {}, bodyText };
    },
    read: (id: string): Call => ({ operation: 'getToken', apiKey, params: { id }, query: [] }),
    takeMaskAway: (id: string): Call => ({ ...patch, operation: 'updateToken', params: { id } }),
  };

  /**
   * Resolves to the problem if the key lacks the permission of a call, else to undefined. Changes nothing: it sends a
   * body of a wrong type, and the vault checks the permission first (decisions §1).
   */
  async function refusalOf(call: Call): Promise<Reply | undefined> {
    const reply = await untilFree(client, { ...call, mediaType: 'text/plain', bodyText: '' });
    return reply.status === 415 ? undefined : reply;
  }

  const refusalOfUpdate = loadedOnce(() => refusalOf(calls.takeMaskAway('mask')));

  /** Sends one row and resolves to its outcome. Rejects with `RefusedReply` and with the errors of the client. */
  async function send({ line, body, hasDerivedId, isRead, refused }: ImportRow): Promise<RowAnswer> {
    if (refused !== undefined) return { line, status: 400, code: 'invalid_request', detail: refused };
    const { id, withoutMask } = factsOf(body);
    if (withoutMask) {
      // Check this before the create: without the permission, the new token would keep the mask of its type.
      const refusal = await refusalOfUpdate();
      if (refusal !== undefined) return rowError(line, refusal);
    }
    const reply = await untilFree(client, calls.create(body));
    const exists = reply.status === 409 && id !== undefined;
    if (reply.status !== 201 && !exists) {
      const error = rowError(line, reply);
      if (error.code === 'permission_missing') throw new RefusedReply(reply);
      // The masked form of a card is not a card.
      const isData = Object.keys(error.errors ?? {}).some((path) => path === 'data' || path.startsWith('data.'));
      return isRead === true && isData ? { ...error, detail: MASKED, errors: {} } : error;
    }
    if (exists && hasDerivedId !== true) {
      const found = await untilFree(client, calls.read(id));
      if (found.status !== 200 || !isSameToken(body, found.bodyText ?? '{}')) return rowError(line, reply);
    }
    if (withoutMask) {
      const made = id ?? (JSON.parse(reply.bodyText ?? '{}') as { readonly id: string }).id;
      const patched = await untilFree(client, calls.takeMaskAway(made));
      if (patched.status !== 200) {
        const error = rowError(line, patched);
        return { ...error, detail: `The token exists, but with the mask of its type: ${error.detail}` };
      }
    }
    return exists ? 'skipped' : 'created';
  }

  return {
    /** Rejects with `RefusedReply` if the key may not create tokens. Creates nothing. */
    async requireCreate(): Promise<void> {
      const refusal = await refusalOf(calls.create(''));
      if (refusal !== undefined) throw new RefusedReply(refusal);
    },

    /**
     * Sends a batch as one call. Sends a rejected batch row by row, so that one wrong row does not fail the others.
     * Calls `answered` for each answered row. After an error, waits for the rows in progress before it rejects.
     */
    async sendAll(rows: readonly ImportRow[], answered: (index: number, answer: RowAnswer) => void): Promise<void> {
      const whole = rows.filter(({ body, refused }) => refused === undefined && isWholeRequest(body));
      const reply = whole.length > 1 ? await untilFree(client, calls.createAll(whole)) : undefined;
      if (reply && reply.status !== 201 && !ROW_STATUSES.has(reply.status)) throw new RefusedReply(reply);
      const created = new Set(reply?.status === 201 ? whole : []);
      const ids = rows.flatMap(({ body }) => factsOf(body).id ?? []);
      // Rows with the same id are sent in order, so that the first one wins.
      const atOnce = new Set(ids).size < ids.length ? 1 : SINGLY_AT_ONCE;
      for (let at = 0; at < rows.length; at += atOnce) {
        const sent = rows.slice(at, at + atOnce).map(async (row, index) => {
          answered(at + index, created.has(row) ? 'created' : await send(row));
        });
        const failed = (await Promise.allSettled(sent)).find(({ status }) => status === 'rejected');
        if (failed?.status === 'rejected') throw failed.reason;
      }
    },
  };
}

/** Repeats a call while the vault is busy, up to MAX_TRIES times. Resolves to the last reply. */
async function untilFree(client: Client, call: Call): Promise<Reply> {
  for (let tries = 1; ; tries += 1) {
    const reply = await client.call(call);
    if (!BUSY.has(reply.status) || tries === MAX_TRIES) return reply;
    await sleep(reply.retryAfter === undefined ? PAUSE_MS : reply.retryAfter * 1000);
  }
}

/** Returns the error of a row from its reply. Throws `RefusedReply` for a reply that does not concern this row. */
function rowError(line: number, reply: Reply): RowError {
  if (!ROW_STATUSES.has(reply.status)) throw new RefusedReply(reply);
  const { code = '', detail = '', errors } = decodeProblem(reply.bodyText) ?? {};
  return { line, status: reply.status, code, detail, ...(errors && { errors }) };
}
