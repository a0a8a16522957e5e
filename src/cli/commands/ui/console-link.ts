import { randomBytes } from 'node:crypto';
import type { ConsoleOptions } from '../../../console/console.ts';
import type { DaemonOptions } from '../../../http/daemon-options.ts';

const CODE_BYTES = 32;

/** A console for a daemon, and the link that opens it. The console is loaded at the first request for its page. */
export interface ConsoleLink {
  readonly console: NonNullable<DaemonOptions['console']>;
  readonly link: (url: string) => string;
}

/** What a console is for, but the code in its link. */
export interface LinkedConsole extends Omit<ConsoleOptions, 'code'> {
  /** How often the link opens a page. */
  readonly life: ConsoleOptions['code']['life'];
}

export function createConsoleLink({ life, ...options }: LinkedConsole): ConsoleLink {
  const text = randomBytes(CODE_BYTES).toString('base64url');
  return {
    // The code is in the fragment: no request and no log has it.
    link: (url) => `${url}/ui/#code=${text}`,
    console: async (context) => {
      const { createConsole } = await import('../../../console/console.ts');
      return createConsole({ ...options, code: { text, life } }, context);
    },
  };
}
