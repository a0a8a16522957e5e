import { randomBytes } from 'node:crypto';
import type { ConsoleOptions } from '../../../console/console.ts';
import { runningTime } from '../../../core/timers.ts';
import type { ConsoleContext } from '../../../http/endpoints.ts';

const CODE_BYTES = 32;

/** A console and the link that opens it. */
export type ConsoleLink = ReturnType<typeof createConsoleLink>;

/** The options of a console without the code of its link. */
export interface LinkedConsole extends Omit<ConsoleOptions, 'code' | 'now'> {
  /** Whether the link works once or always. */
  readonly life: ConsoleOptions['code']['life'];
}

export function createConsoleLink({ life, ...options }: LinkedConsole) {
  // Set `madeAt` here, because the first request, which creates the console, may come much later.
  const code = { text: randomBytes(CODE_BYTES).toString('base64url'), life, madeAt: runningTime() };
  return {
    // The code is in the fragment, so no request or log contains it.
    link: (url: string) => `${url}/ui/#code=${code.text}`,
    // The daemon loads the console on the first request for its page.
    console: async (context: ConsoleContext) => {
      const { createConsole } = await import('../../../console/console.ts');
      return createConsole({ ...options, code }, context);
    },
  };
}
