import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';

/** Something that is asked of the vault. The value of the question before stays until the next one is there. */
export interface Loaded<T> {
  readonly value?: T;
  readonly error?: string;
  readonly isLoading: boolean;
}

const reloads = signal(0);

/** Asks again for everything that is shown. */
export function reload(): void {
  reloads.value += 1;
}

/** Asks when `question` changes or the page is reloaded. Does not ask while `question` is undefined. */
export function useLoaded<T>(question: string | undefined, ask: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [answer, setAnswer] = useState<{ asked?: string; value?: T; error?: string }>({});
  const asked = question === undefined ? undefined : `${reloads.value} ${question}`;
  useEffect(() => {
    if (asked === undefined) return setAnswer({});
    const controller = new AbortController();
    ask(controller.signal).then(
      (value) => controller.signal.aborted || setAnswer({ asked, value }),
      (error: unknown) => controller.signal.aborted || setAnswer({ asked, error: messageOf(error) }),
    );
    return () => controller.abort();
  }, [asked]);
  return { ...answer, isLoading: answer.asked !== asked };
}

/** Returns the text of an error for people. */
export function messageOf(error: unknown): string {
  if (error instanceof TypeError) return 'The server of the console does not answer.';
  return error instanceof Error ? error.message.replace(/^\w+: /, '') : String(error);
}
