import type { Client } from '../../../contract/call.ts';
import type { ImportRow } from './import-row.ts';
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
  /** Called from time to time with the numbers of finished and rejected rows, while no row is in progress. */
  readonly checkpoint?: ((read: number, failed: number) => Promise<void>) | undefined;
  /** Whether to read all rows after a failure, to count them. Do not set it for a stream that may never end. */
  readonly countsRemaining?: boolean;
}

const CHECKPOINT_EVERY = 2_000;

/**
 * Creates a token for each row, many in one call, and keeps only the rows in progress in memory. Skips a row whose id
 * belongs to a token with the same contents, so that a second run completes a killed one. Checks the key's permission
 * before the first row. Resolves when no row is in progress, also after a failure, which `stoppedBy` contains.
 */
export async function importRows(rows: AsyncIterable<ImportRow>, options: ImportOptions): Promise<ImportEnding> {
  const { progress, checkpoint } = options;
  const counts: ImportCounts = { created: 0, skipped: 0, failed: 0 };
  const sender = rowSender(options.client, options.apiKey);
  let failure: { readonly thrown: unknown } | undefined;
  let [read, noted] = [0, 0];
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

  /** The batches without an answer, in order. */
  const sent: Promise<readonly RowAnswer[]>[] = [];
  /** Waits until at most `most` batches have no answer. Reports the rejected rows of the others. */
  async function settle(most: number): Promise<void> {
    while (sent.length > most) {
      for (const answer of (await sent.shift()) ?? []) {
        if (typeof answer === 'object') await options.refused(answer).catch(fail);
      }
    }
  }

  const countsRemaining = options.countsRemaining ?? false;
  let remaining: number | undefined = countsRemaining ? 0 : undefined;
  let isInputFault = false;
  await sender.requireCreate().catch(fail);
  try {
    if (failure === undefined || countsRemaining) {
      for await (const batch of batchesOf(rows)) {
        if (failure !== undefined) {
          remaining = (remaining ?? 0) + batch.length;
          continue;
        }
        read += batch.length;
        sent.push(send(batch));
        await settle(PARALLEL - 1);
        if (checkpoint !== undefined && read >= noted + CHECKPOINT_EVERY) {
          noted = read;
          await settle(0);
          if (failure === undefined) await checkpoint(read, counts.failed).catch(fail);
        }
        if (failure !== undefined && !countsRemaining) break;
      }
    }
  } catch (error) {
    remaining = undefined;
    isInputFault = failure === undefined;
    fail(error);
  }
  await settle(0);
  if (failure === undefined) await checkpoint?.(read, counts.failed).catch(fail);
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
