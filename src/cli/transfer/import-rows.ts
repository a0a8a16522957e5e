import type { Client } from '../../contract/call.ts';
import type { ImportRow } from './import-row.ts';
import { createRowOrder } from './row-order.ts';
import { type RowError, rowSender } from './send-row.ts';

/** How many rows are under way at once: enough for the store to commit them in large groups. */
const PARALLEL = 64;

/** How many rows may have their answer while that of an earlier one is waited for: refused ones are told in order. */
const MOST_AHEAD = 1_000;

/** What became of the rows. */
export interface ImportCounts {
  created: number;
  /** Rows whose token was there already, with the same contents. */
  skipped: number;
  failed: number;
}

/** How an import ended. */
export interface ImportEnding {
  readonly counts: Readonly<ImportCounts>;
  /** Rows that were read and have no answer: those that were under way when it was stopped. */
  readonly unanswered: number;
  /** `ImportStopped`, or what the client, the rows or the options have thrown. Absent when all rows are done. */
  readonly stoppedBy?: unknown;
}

export interface ImportOptions {
  readonly client: Client;
  readonly apiKey: string;
  /** Called one after the other, in the order of the rows. */
  readonly refused: (error: RowError) => Promise<void>;
  readonly progress: (done: number) => void;
  /** Told now and then, when every row up to this many has an answer. */
  readonly checkpoint?: ((read: number, failed: number) => Promise<void>) | undefined;
  /** Whether an id that a row brings was made up for it: then whoever has it is that row. */
  readonly isDerived: (id: string) => boolean;
}

const CHECKPOINT_EVERY = 2_000;

/**
 * Makes a token of each row, many at a time, and keeps no more rows than are under way. A row whose id is taken by a token with
 * the same contents is passed over, so that a run that was killed is completed by the next. That the key may create tokens at
 * all is found out before the first row. Resolves when no row is under way any more, whatever has stopped it.
 */
export async function importRows(rows: AsyncIterable<ImportRow>, options: ImportOptions): Promise<ImportEnding> {
  const { progress, checkpoint } = options;
  const counts: ImportCounts = { created: 0, skipped: 0, failed: 0 };
  let running = 0;
  const order = createRowOrder(options.refused);
  const sender = rowSender(options.client, options.apiKey, options.isDerived);
  let failure: { readonly thrown: unknown } | undefined;
  let read = 0;
  const answered = () => counts.created + counts.skipped + counts.failed;
  const fail = (thrown: unknown) => {
    failure ??= { thrown };
  };
  let wake: () => void = () => undefined;
  /** Resolves when one more row has come to its end. */
  const oneEnded = () =>
    new Promise<void>((resolve) => {
      wake = resolve;
    });

  async function importRow(row: ImportRow, place: number): Promise<void> {
    const answer = await sender.send(row);
    const error = typeof answer === 'object' ? answer : undefined;
    counts[typeof answer === 'object' ? 'failed' : answer] += 1;
    await order.answered(place, error);
    progress(answered());
  }

  async function settle(): Promise<void> {
    while (running > 0) await oneEnded();
  }

  try {
    await sender.requireCreate();
    for await (const row of rows) {
      running += 1;
      void importRow(row, read)
        .catch(fail)
        .finally(() => {
          running -= 1;
          wake();
        });
      read += 1;
      while (failure === undefined && (running >= PARALLEL || order.waiting >= MOST_AHEAD)) await oneEnded();
      if (failure !== undefined) break;
      if (checkpoint !== undefined && read % CHECKPOINT_EVERY === 0) {
        await settle();
        if (failure !== undefined) break;
        await checkpoint(read, counts.failed);
      }
    }
  } catch (error) {
    fail(error);
  }
  await settle();
  await order.finish().catch(fail);
  if (failure === undefined) await checkpoint?.(read, counts.failed).catch(fail);
  const unanswered = read - answered();
  return { counts, unanswered, ...(failure !== undefined && { stoppedBy: failure.thrown }) };
}
