import { setTimeout as sleep } from 'node:timers/promises';
import { decodeProblem } from '../../../client/decode-problem.ts';
import type { Call, Client, Reply } from '../../../contract/call.ts';
import { PROBLEMS } from '../../../contract/problems.ts';
import { type MemberErrors, memberLines } from '../../../core/problem.ts';
import { factsOf, type ImportRow, isSameToken, isWholeRequest } from './import-row.ts';
import { TransferRefused } from './transfer-refused.ts';

/** The number of repetitions of a row while the vault is busy, and the default wait, in milliseconds. */
const MAX_TRIES = 60;
const PAUSE_MS = 500;

/** Statuses about one row. Any other failure would affect every row, so it ends the import. */
const ROW_STATUSES: ReadonlySet<number> = new Set([400, 403, 404, 409, 413, 415]);
const BUSY: ReadonlySet<number> = new Set([429, 503]);

/** Rows of a rejected batch that are sent at once. */
const SINGLY_AT_ONCE = 32;

/** The outcome of a row. */
export type RowAnswer = 'created' | 'skipped' | RowError;

/** A row that the vault rejected; one line of the error file. */
export interface RowError {
  readonly line: number;
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly errors?: MemberErrors;
}

/** Why a row was rejected, in one line: the wrong members and their errors, or the problem's detail. */
export function reasonOf({ detail, errors }: RowError): string {
  const members = memberLines(errors);
  return members.length === 0 ? detail : detail.replace(PROBLEMS.invalid_request.detail, () => members.join('; '));
}

/** Creates tokens from rows. */
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
   * The vault's reply to a body that this operation never accepts: the vault checks the permission first (decisions
   * §1).
   */
  async function refusalOf(call: Call): Promise<Reply | undefined> {
    const reply = await untilFree(client, { ...call, mediaType: 'text/plain', bodyText: '' });
    return reply.status === 415 ? undefined : reply;
  }

  let update: Promise<Reply | undefined> | undefined;

  /** Throws `TransferRefused`, and what the client throws. */
  async function send({ line, body, hasDerivedId }: ImportRow): Promise<RowAnswer> {
    const { id, withoutMask } = factsOf(body);
    if (withoutMask) {
      // Checked before the token exists: it would otherwise keep the mask of its type.
      update ??= refusalOf(calls.takeMaskAway('mask'));
      const refusal = await update;
      if (refusal !== undefined) return rowError(line, refusal);
    }
    const reply = await untilFree(client, calls.create(body));
    const exists = reply.status === 409 && id !== undefined;
    if (reply.status !== 201 && !exists) {
      const error = rowError(line, reply);
      if (error.code === 'permission_missing') throw new TransferRefused(reply);
      return error;
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
        return { ...error, detail: `The token was made with the mask of its type: ${error.detail}` };
      }
    }
    return exists ? 'skipped' : 'created';
  }

  return {
    /** Throws `TransferRefused` when the key may not create tokens. Creates nothing. */
    async requireCreate(): Promise<void> {
      const refusal = await refusalOf(calls.create(''));
      if (refusal !== undefined) throw new TransferRefused(refusal);
    },

    /**
     * Sends a batch as one call. Sends a rejected batch row by row, so that one wrong row does not fail the others.
     * Calls `answered` for each answered row. Rejects when no row is in progress.
     */
    async sendAll(rows: readonly ImportRow[], answered: (place: number, answer: RowAnswer) => void): Promise<void> {
      const whole = rows.filter(({ body }) => isWholeRequest(body));
      const reply = whole.length > 1 ? await untilFree(client, calls.createAll(whole)) : undefined;
      if (reply && reply.status !== 201 && !ROW_STATUSES.has(reply.status)) throw new TransferRefused(reply);
      const created = new Set(reply?.status === 201 ? whole : []);
      for (let at = 0; at < rows.length; at += SINGLY_AT_ONCE) {
        const sent = rows.slice(at, at + SINGLY_AT_ONCE).map(async (row, place) => {
          answered(at + place, created.has(row) ? 'created' : await send(row));
        });
        const failed = (await Promise.allSettled(sent)).find(({ status }) => status === 'rejected');
        if (failed?.status === 'rejected') throw failed.reason;
      }
    },
  };
}

/** Repeats the call until the vault is not busy, and returns the reply. */
async function untilFree(client: Client, call: Call): Promise<Reply> {
  for (let tries = 1; ; tries += 1) {
    const reply = await client.call(call);
    if (!BUSY.has(reply.status) || tries === MAX_TRIES) return reply;
    await sleep(reply.retryAfter === undefined ? PAUSE_MS : reply.retryAfter * 1000);
  }
}

/** Throws `TransferRefused` for a reply that is not about this row. */
function rowError(line: number, reply: Reply): RowError {
  if (!ROW_STATUSES.has(reply.status)) throw new TransferRefused(reply);
  const { code = '', detail = '', errors } = decodeProblem(reply.bodyText) ?? {};
  return { line, status: reply.status, code, detail, ...(errors && { errors }) };
}
