import { messageOf } from '../loaded.ts';

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface Pauses {
  /** The pauses between two calls and after a failed one, in milliseconds. */
  readonly pauseMs: number;
  readonly retryMs: number;
}

/** Repeats `step` until `stop` aborts. Passes the message of an error to `failed`. */
export async function repeat(
  stop: AbortSignal,
  { pauseMs, retryMs }: Pauses,
  step: () => Promise<void>,
  failed: (message: string) => void,
): Promise<void> {
  while (!stop.aborted) {
    const ms = await step().then(
      () => pauseMs,
      (error) => {
        if (!stop.aborted) failed(messageOf(error));
        return retryMs;
      },
    );
    if (!stop.aborted) await pause(ms);
  }
}
