import type { FaultCode } from '../../../contract/faults.ts';
import type { ProblemCode } from '../../../contract/problems.ts';
import { Fault } from '../../../core/fault.ts';
import { Problem } from '../../../core/problem.ts';

/** Returns the error code of the system, Node or SQLite (`ENOENT`), if there is one. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** Returns the extended result code of an error from SQLite (`SQLITE_IOERR_WRITE`); undefined for other errors. */
export function sqliteCode(error: unknown): string | undefined {
  const code = errorCode(error);
  return code?.startsWith('SQLITE_') ? code : undefined;
}

/** Returns whether the error means that another connection holds a needed lock. */
export function isBusy(error: unknown): boolean {
  const code = sqliteCode(error);
  return code !== undefined && (code === 'SQLITE_BUSY' || code.startsWith('SQLITE_BUSY_'));
}

/** An error with the code of SQLite for a lock, so that `retryBusy` tries again. */
export class BusyError extends Error {
  readonly code = 'SQLITE_BUSY';
}

/**
 * The error codes of a full disk, from SQLite and the system. SQLite reports an exceeded quota or a full shared-memory
 * file as a failed write.
 */
export const NO_SPACE_CODES: ReadonlySet<string> = new Set([
  'SQLITE_FULL',
  'SQLITE_IOERR_WRITE',
  'SQLITE_IOERR_SHMSIZE',
  'ENOSPC',
  'EDQUOT',
]);

/** The problems by result code, or by the first two words of one. */
const PROBLEM_BY_CODE: Readonly<Record<string, ProblemCode | undefined>> = {
  SQLITE_CORRUPT: 'integrity_failure',
  SQLITE_NOTADB: 'integrity_failure',
  SQLITE_IOERR_SHORT_READ: 'integrity_failure',
  SQLITE_IOERR_CORRUPTFS: 'integrity_failure',
  SQLITE_IOERR_DATA: 'integrity_failure',
  // These mean rows that violate the tables' declarations, or a header that requires a newer SQLite. This code writes
  // neither.
  SQLITE_CONSTRAINT_NOTNULL: 'integrity_failure',
  SQLITE_CONSTRAINT_CHECK: 'integrity_failure',
  SQLITE_CONSTRAINT_DATATYPE: 'integrity_failure',
  SQLITE_MISMATCH: 'integrity_failure',
  SQLITE_READONLY: 'integrity_failure',
  // A folder without access is not damage.
  SQLITE_READONLY_DIRECTORY: undefined,
  SQLITE_READONLY_DBMOVED: 'vault_moved',
  SQLITE_CANTOPEN: 'vault_moved',
};

/** Returns the problem for an error of SQLite; returns any other error unchanged. */
export function toProblem(error: unknown): unknown {
  if (isBusy(error)) return vaultBusy(error);
  const code = sqliteCode(error);
  if (code === undefined) return error;
  if (NO_SPACE_CODES.has(code)) return new Problem('no_space', { cause: error, retryAfter: 1 });
  const primary = code.split('_', 2).join('_');
  const problem = Object.hasOwn(PROBLEM_BY_CODE, code) ? PROBLEM_BY_CODE[code] : PROBLEM_BY_CODE[primary];
  if (problem === 'vault_moved') return new Problem(problem, { cause: error, retryAfter: 1 });
  return problem === undefined ? error : new Problem(problem, { cause: error });
}

export function vaultBusy(cause: unknown): Problem {
  return new Problem('vault_busy', { cause, retryAfter: 1 });
}

/** The faults and their messages, by the first two words of the result code. */
const FAULT_BY_CODE: Readonly<Record<string, readonly [FaultCode, string]>> = {
  SQLITE_NOTADB: ['not_a_vault', 'is not a vault'],
  SQLITE_CORRUPT: ['damaged', 'is damaged'],
  SQLITE_IOERR: ['damaged', 'cannot be read completely'],
  SQLITE_ERROR: ['damaged', 'is damaged'],
  SQLITE_BUSY: ['locked_by_other', 'is locked by another process'],
  SQLITE_CANTOPEN: ['file_unwritable', 'cannot be opened for writing'],
  SQLITE_READONLY: ['file_unwritable', 'cannot be written'],
  SQLITE_PERM: ['file_unwritable', 'cannot be opened for writing'],
};

/** Returns the fault for an error of SQLite on the vault `file`; returns any other error unchanged. */
export function toFileFault(file: string, error: unknown): unknown {
  const code = sqliteCode(error) ?? '';
  // Opening a vault creates its log and shared memory, so a full disk is not damage.
  if (NO_SPACE_CODES.has(code)) return new Fault('no_space', `${file} has no space left beside it`, { cause: error });
  if (code === 'SQLITE_READONLY_DBMOVED') {
    return new Fault('locked_by_other', `${file} was replaced by another process`, { hint: 'try again', cause: error });
  }
  const primary = code.split('_', 2).join('_');
  const row = Object.hasOwn(FAULT_BY_CODE, primary) ? FAULT_BY_CODE[primary] : undefined;
  return row === undefined ? error : new Fault(row[0], `${file} ${row[1]}`, { cause: error });
}
