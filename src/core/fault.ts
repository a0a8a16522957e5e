import { FAULTS, type FaultCode } from '../contract/faults.ts';

/** A failure outside any call: of a file, a key, a flag or a socket. The message is for the user of this machine. */
export class Fault extends Error {
  readonly code: FaultCode;
  readonly hint: string | undefined;
  /** Lines to print below the message when several places are wrong. */
  readonly details: readonly string[];

  constructor(
    code: FaultCode,
    message: string,
    options: {
      readonly hint?: string | undefined;
      readonly details?: readonly string[];
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = 'Fault';
    this.code = code;
    this.details = options.details ?? [];
    const row: { readonly exit: number; readonly hint?: string } = FAULTS[code];
    this.hint = options.hint ?? row.hint;
  }
}
