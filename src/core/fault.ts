import { FAULTS, type FaultCode } from '../contract/faults.ts';
import type { MemberErrors } from './problem.ts';

/** The number of EDQUOT, for which Node has no name. Windows has no such error. */
const EDQUOT: Readonly<Record<string, number>> = { linux: -122, darwin: -69 };

/**
 * Returns whether a thrown value is an error. It may come from another realm: test runners run each file in a realm of
 * its own, in which Node's errors are no instances of `Error`.
 */
export function isError(value: unknown): value is Error {
  return typeof value === 'object' && value !== null && 'name' in value && 'message' in value;
}

/** Returns the error code of the system, Node or SQLite (`ENOENT`), if there is one. The error may be of any realm. */
export function errorCode(error: unknown): string | undefined {
  if (!isError(error)) return undefined;
  if ('errno' in error && error.errno !== undefined && error.errno === EDQUOT[process.platform]) return 'EDQUOT';
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** Returns whether the process or the system had no descriptor left for a file. */
export function isShortage(error: unknown): boolean {
  const code = errorCode(error);
  return code === 'EMFILE' || code === 'ENFILE';
}

/** A failure outside any call: of a file, a key, a flag or a socket. The message is for the user of this machine. */
export class Fault extends Error {
  readonly code: FaultCode;
  readonly hint: string | undefined;
  /** Lines to print below the message when several parts are wrong. */
  readonly details: readonly string[];
  /** The ids of the records that an ambiguous name names. */
  readonly ids: readonly string[];
  /** The errors by the path of the member, for `invalid_request`. */
  readonly errors: MemberErrors | undefined;

  constructor(
    code: FaultCode,
    message: string,
    options: {
      readonly hint?: string | undefined;
      readonly details?: readonly string[];
      readonly ids?: readonly string[];
      readonly errors?: MemberErrors;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = 'Fault';
    this.code = code;
    this.details = options.details ?? [];
    this.ids = options.ids ?? [];
    this.errors = options.errors;
    const row: { readonly exit: number; readonly hint?: string } = FAULTS[code];
    // Any open can meet the limit on open files, and no other hint helps then.
    this.hint = isShortage(options.cause) ? FAULTS.too_many_files.hint : (options.hint ?? row.hint);
  }

  /** Returns this fault with another message. */
  withMessage(message: string): Fault {
    const { code, hint, details, ids, errors } = this;
    return new Fault(code, message, { hint, details, ids, ...(errors && { errors }), cause: this });
  }
}
