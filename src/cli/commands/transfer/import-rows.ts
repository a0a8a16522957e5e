import type { Client } from '../../../contract/call.ts';
import { factsOf, type ImportRow } from './import-row.ts';
import { type RowAnswer, type RowError, rowSender } from './send-row.ts';

/** The maximum numbers of rows and characters in one call. The API accepts larger bodies. */
const BATCH_ROWS = 200;
const BATCH_CHARACTERS = 256 * 1024;

/** The number of batches without an answer. The vault prepares one while it writes another. */
const PARALLEL = 3;

/** The numbers of rows by outcome. */
export interface ImportCounts {
  created: number;
  /** Rows whose token already existed with the same contents. */
  skipped: number;
  failed: number;
}

/** The outcome of an import. */
export interface ImportEnding {
  readonly counts: Readonly<ImportCounts>;
  /** The number of rows without an answer, because they were in progress when the import stopped. */
  readonly unanswered: number;
  /** The number of rows that were not sent; undefined when they were not counted. */
  readonly remaining: number | undefined;
  /** `RefusedReply`, or an error of the client, the rows or the options. Absent when all rows are done. */
  readonly stoppedBy?: unknown;
  /** Whether reading the rows failed, so that the same input would fail again. */
  readonly isInputFault: boolean;
}

export interface ImportOptions {
  readonly client: Client;
  readonly apiKey: string;
  /** Called for each rejected row, one at a time, in the order of the rows. */
  readonly refused: (error: RowError) => Promise<void>;
  readonly progress: (counts: Readonly<ImportCounts>) => void;
  /** Returns a function that notes the rows read so far as finished, of which `failed` were rejected. */
  readonly mark?: ((read: number) => (failed: number) => Promise<void>) | undefined;
  /** Stops the import after the rows in progress. Its reason becomes `stoppedBy`. */
  readonly signal?: AbortSignal;
  /** Whether to read all rows after a failure, to count them. Do not set it for a stream that may never end. */
  readonly countsRemaining?: boolean;
}

const CHECKPOINT_EVERY = 2_000;

/**
 * Creates a token for each row, many in one call, and keeps only the rows in progress in memory. Skips a row whose id
 * belongs to a token with the same contents, so that a second run completes a killed one. Checks the key's permission
 * before the first row. Resolves when no row is in progress, also after a failure, which `stoppedBy` contains. Of rows with
 * the same id the first one is created.
 */
export async function importRows(rows: AsyncIterable<ImportRow>, options: ImportOptions): Promise<ImportEnding> {
  const { progress, mark, signal, countsRemaining = false } = options;
  const counts: ImportCounts = { created: 0, skipped: 0, failed: 0 };
  const sender = rowSender(options.client, options.apiKey);
  let failure: { readonly thrown: unknown } | undefined;
  const fail = (thrown: unknown) => {
    failure ??= { thrown };
  };

  /** Sends a batch. Resolves to the answers by row position, even when the import fails. */
  async function send(batch: readonly ImportRow[]): Promise<readonly RowAnswer[]> {
    const answers: RowAnswer[] = [];
    const answered = (index: number, answer: RowAnswer) => {
      answers[index] = answer;
      counts[typeof answer === 'object' ? 'failed' : answer] += 1;
      progress(counts);
    };
    await sender.sendAll(batch, answered).catch(fail);
    return answers;
  }

  /** The batches without an answer, in order, with their ids and what notes the rows up to their end. */
  const sent: {
    readonly size: number;
    readonly ids: ReadonlySet<string>;
    readonly answers: Promise<readonly RowAnswer[]>;
    readonly note: ((failed: number) => Promise<void>) | undefined;
  }[] = [];
  let [read, finished, failed, noted] = [0, 0, 0, 0];
  let isWhole = true;
  let note: (() => Promise<void>) | undefined;

  /** Waits until at most `most` batches have no answer. Reports the rejected rows of the others. */
  async function settle(most: number): Promise<void> {
    while (sent.length > most) {
      const first = sent.shift();
      const answers = (await first?.answers) ?? [];
      // Only rows without a gap before them are finished for a later run.
      isWhole &&= Object.keys(answers).length === first?.size;
      for (const answer of answers) {
        if (typeof answer !== 'object') continue;
        failed += 1;
        await options.refused(answer).catch((error: unknown) => {
          isWhole = false;
          fail(error);
        });
      }
      if (!isWhole) continue;
      finished += answers.length;
      const failedNow = failed;
      note = async () => first?.note?.(failedNow);
    }
    if (finished < noted + CHECKPOINT_EVERY) return;
    noted = finished;
    await note?.().catch(fail);
  }

  let remaining: number | undefined = countsRemaining ? 0 : undefined;
  let isInputFault = false;
  const aborted = new Promise<{ readonly done: true }>((resolve) => {
    const stop = () => {
      fail(signal?.reason);
      remaining = undefined;
      resolve({ done: true });
    };
    if (signal?.aborted) stop();
    signal?.addEventListener('abort', stop);
  });
  await sender.requireCreate().catch(fail);
  try {
    const batches = batchesOf(rows);
    while (failure === undefined || countsRemaining) {
      const next = await Promise.race([batches.next(), aborted]);
      if (next.done === true) break;
      const batch = next.value;
      if (failure !== undefined) {
        remaining = (remaining ?? 0) + batch.length;
        continue;
      }
      read += batch.length;
      const ids = new Set(batch.flatMap(({ body }) => factsOf(body).id ?? []));
      if (sent.some((earlier) => [...ids].some((id) => earlier.ids.has(id)))) await settle(0);
      sent.push({ size: batch.length, ids, answers: send(batch), note: mark?.(read) });
      await settle(PARALLEL - 1);
    }
  } catch (error) {
    remaining = undefined;
    isInputFault = failure === undefined;
    fail(error);
  }
  await settle(0);
  await note?.().catch(fail);
  const unanswered = read - counts.created - counts.skipped - counts.failed;
  return { counts, unanswered, remaining, isInputFault, ...(failure !== undefined && { stoppedBy: failure.thrown }) };
}

/** Yields the rows in batches. Yields the rows before an input error as a batch before it throws the error. */
async function* batchesOf(rows: AsyncIterable<ImportRow>): AsyncGenerator<readonly ImportRow[]> {
  let [batch, size]: [ImportRow[], number] = [[], 0];
  try {
    for await (const row of rows) {
      batch.push(row);
      size += row.body.length;
      if (batch.length < BATCH_ROWS && size < BATCH_CHARACTERS) continue;
      yield batch;
      [batch, size] = [[], 0];
    }
  } catch (error) {
    if (batch.length > 0) yield batch;
    throw error;
  }
  if (batch.length > 0) yield batch;
}
