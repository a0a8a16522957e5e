import { setTimeout as sleep } from 'node:timers/promises';
import type { Call, Client, Reply } from '../../contract/call.ts';
import { PROBLEM_TYPE_PREFIX } from '../../contract/problems.ts';
import { factsOf, type ImportRow } from './import-row.ts';
import { isSameToken } from './same-token.ts';

/** How many rows are under way at once: enough for the store to commit them in groups. */
const PARALLEL = 32;

/** How often a row is sent again while the vault is busy, and how long to wait when it does not say, in milliseconds. */
const MOST_TRIES = 60;
const PAUSE_MS = 500;

/** Statuses that are about the row. Any other failure would be that of every row: it ends the import. */
const ROW_STATUSES: ReadonlySet<number> = new Set([400, 403, 404, 409, 413, 415]);
const BUSY: ReadonlySet<number> = new Set([429, 503]);

/** What became of the rows. */
export interface ImportCounts {
  created: number;
  /** Rows whose token was there already, with the same contents. */
  skipped: number;
  failed: number;
}

/** A row that the vault refused; as a line of the file of errors. */
export interface RowError {
  readonly line: number;
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly errors?: object;
}

export interface ImportOptions {
  readonly client: Client;
  readonly apiKey: string;
  /** Called one after the other. */
  readonly refused: (error: RowError) => Promise<void>;
  readonly progress: (done: number) => void;
  /** Told now and then, when every row up to this many has an answer. */
  readonly checkpoint?: ((read: number, failed: number) => Promise<void>) | undefined;
  /** Whether an id that a row brings was made up for it: then whoever has it is that row. */
  readonly isDerived: (id: string) => boolean;
}

const CHECKPOINT_EVERY = 2_000;

/** Ends an import: a reply that every other row would get, too. */
export class ImportStopped extends Error {
  override readonly name = 'ImportStopped';
  readonly reply: Reply;

  constructor(reply: Reply) {
    super('the import was stopped');
    this.reply = reply;
  }
}

/**
 * Makes a token of each row, many at a time, and keeps no more rows than are under way. A row whose id is taken by a token with
 * the same contents is passed over, so that a run that was killed is completed by the next. Throws `ImportStopped` and what the client throws,
 * when no row is under way any more.
 */
export async function importRows(rows: AsyncIterable<ImportRow>, options: ImportOptions): Promise<ImportCounts> {
  const { client, apiKey, refused, progress, checkpoint } = options;
  const counts: ImportCounts = { created: 0, skipped: 0, failed: 0 };
  const running = new Set<Promise<void>>();
  let failure: unknown;
  let telling = Promise.resolve();
  let read = 0;

  async function settle(): Promise<void> {
    while (running.size > 0) await Promise.race(running);
    await telling;
    if (failure !== undefined) throw failure;
  }

  async function importRow(row: ImportRow): Promise<void> {
    const answer = await createOne(client, apiKey, row, options.isDerived);
    if (answer === 'created' || answer === 'skipped') counts[answer] += 1;
    else {
      const error = rowError(row.line, answer);
      if (!ROW_STATUSES.has(answer.status) || error.code === 'permission_missing') throw new ImportStopped(answer);
      counts.failed += 1;
      telling = telling.then(() => refused(error));
      await telling;
    }
    progress(counts.created + counts.skipped + counts.failed);
  }

  try {
    for await (const row of rows) {
      const work = importRow(row)
        .catch((error: unknown) => {
          failure ??= error;
        })
        .finally(() => running.delete(work));
      running.add(work);
      read += 1;
      if (running.size >= PARALLEL) await Promise.race(running);
      if (failure !== undefined) break;
      if (checkpoint !== undefined && read % CHECKPOINT_EVERY === 0) {
        await settle();
        await checkpoint(read, counts.failed);
      }
    }
  } catch (error) {
    failure ??= error;
  }
  await settle();
  await checkpoint?.(read, counts.failed);
  return counts;
}

async function createOne(
  client: Client,
  apiKey: string,
  { body }: ImportRow,
  isDerived: (id: string) => boolean,
): Promise<'created' | 'skipped' | Reply> {
  const { id, withoutMask } = factsOf(body);
  const create: Call = {
    operation: 'createToken',
    apiKey,
    mediaType: 'application/json',
    params: {},
    query: [],
    bodyText: body,
  };
  const reply = await untilFree(client, create);
  const exists = reply.status === 409 && id !== undefined;
  if (reply.status !== 201 && !exists) return reply;
  if (exists && !isDerived(id)) {
    const read: Call = { operation: 'getToken', apiKey, params: { id }, query: [] };
    const found = await untilFree(client, read);
    if (found.status !== 200 || !isSameToken(body, found.bodyText ?? '{}')) return reply;
  }
  if (withoutMask && id !== undefined) {
    const patch: Call = {
      ...create,
      operation: 'updateToken',
      params: { id },
      mediaType: 'application/merge-patch+json',
      bodyText: '{"mask":null}',
    };
    const patched = await untilFree(client, patch);
    if (patched.status !== 200) return patched;
  }
  return exists ? 'skipped' : 'created';
}

/** The reply, once the vault is not too busy to give one. */
async function untilFree(client: Client, call: Call): Promise<Reply> {
  for (let tries = 1; ; tries += 1) {
    const reply = await client.call(call);
    if (!BUSY.has(reply.status) || tries === MOST_TRIES) return reply;
    await sleep(reply.retryAfter === undefined ? PAUSE_MS : reply.retryAfter * 1000);
  }
}

function rowError(line: number, reply: Reply): RowError {
  const problem = JSON.parse(reply.bodyText ?? '{}') as {
    readonly type?: string;
    readonly detail?: string;
    readonly errors?: object;
  };
  return {
    line,
    status: reply.status,
    code: (problem.type ?? '').slice(PROBLEM_TYPE_PREFIX.length),
    detail: problem.detail ?? '',
    ...(problem.errors !== undefined && { errors: problem.errors }),
  };
}
