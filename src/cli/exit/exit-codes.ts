import type { ProblemCode } from '../../contract/problems.ts';

/** The exit codes of the process. */
export type ExitCode = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 70 | 130;

/** The exit code of `vault exec`, which is the exit code of the command that it runs. */
export type ChildExitCode = number & { readonly childExitCode?: never };

/** The exit codes and what they mean. */
export const EXIT_CODES = {
  0: 'done',
  1: 'unexpected: a bug, a full disk or a disk error',
  2: 'usage',
  3: 'not found',
  4: 'not authenticated',
  5: 'not permitted',
  6: 'conflict',
  7: 'invalid data',
  8: 'cannot reach the daemon or the database, not ready, busy or rate limited',
  9: 'integrity failure: a damaged or altered file',
  10: 'wrong passphrase or key file',
  70: 'the daemon stopped because of a bug',
  130: 'interrupted',
} as const satisfies Record<ExitCode, string>;

/** The exit codes of replies, each with its statuses. */
const STATUSES: readonly (readonly [ExitCode, readonly number[]])[] = [
  [3, [404]],
  [4, [401]],
  [5, [403]],
  [6, [409]],
  [7, [400, 413, 414, 415, 431]],
  [8, [408, 421, 429, 503]],
];

/** The exit codes of problems that differ from those of their status. */
const CODES = { integrity_failure: 9, disk_error: 1, read_only: 1 } as const satisfies Partial<
  Record<ProblemCode, ExitCode>
>;

/** Returns the exit code of a reply: 0 for a success, 1 for a status that STATUSES does not list. */
export function exitCodeOf(status: number, code: string | undefined): ExitCode {
  if (status < 400) return 0;
  const own: Readonly<Record<string, ExitCode>> = CODES;
  if (code !== undefined && Object.hasOwn(own, code)) return own[code] ?? 1;
  return STATUSES.find(([, statuses]) => statuses.includes(status))?.[0] ?? 1;
}
