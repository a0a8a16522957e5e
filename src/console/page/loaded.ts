import { signal } from '@preact/signals';
import { useLayoutEffect, useState } from 'preact/hooks';
import { outage } from './outage.ts';

/** The state of loaded data. An earlier value stays until the new one arrives. */
export interface Loaded<T> {
  readonly value?: T;
  readonly error?: string;
  readonly isLoading: boolean;
}

const reloads = signal(0);

/** Loads everything on the screen again. */
export function reload(): void {
  reloads.value += 1;
}

/**
 * Loads data with `ask` when `question` changes or the screen is reloaded. Loads nothing while `question` is undefined.
 */
export function useLoaded<T>(question: string | undefined, ask: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [answer, setAnswer] = useState<{ asked?: string; value?: T; error?: string }>({});
  const asked = question === undefined ? undefined : `${reloads.value} ${question}`;
  // A layout effect sends the request before the browser paints.
  useLayoutEffect(() => {
    if (asked === undefined) return setAnswer({});
    const controller = new AbortController();
    ask(controller.signal).then(
      (value) => controller.signal.aborted || setAnswer({ asked, value }),
      (error: unknown) => {
        if (controller.signal.aborted) return;
        // During an outage, keep what is shown.
        setAnswer((before) => (outage.peek() ? { ...before, asked } : { asked, error: messageOf(error) }));
      },
    );
    return () => controller.abort();
  }, [asked]);
  return { ...answer, isLoading: answer.asked !== asked };
}

/** Returns a function that performs an action, and the message of its last error. */
export function useAction() {
  const [error, setError] = useState<string>();
  async function act(work: () => Promise<unknown>): Promise<void> {
    setError(undefined);
    try {
      await work();
    } catch (wrong) {
      setError(messageOf(wrong));
    }
  }
  return { act, error };
}

/** Returns the message of an error. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.replace(/^\w+: /, '') : String(error);
}
