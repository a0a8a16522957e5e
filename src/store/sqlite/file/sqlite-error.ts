import { diskHint, type FaultCode } from '../../../contract/faults.ts';
import type { ProblemCode } from '../../../contract/problems.ts';
import { errorCode, Fault, isError, isShortage } from '../../../core/fault.ts';
import { Problem } from '../../../core/problem.ts';
import { findShortage } from './open-files.ts';

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

/** The error codes of a full disk, an exceeded quota and a reached limit of the file size. */
export const NO_SPACE_CODES: ReadonlySet<string> = new Set(['SQLITE_FULL', 'ENOSPC', 'EDQUOT', 'EFBIG']);

/** The result codes of a failed write. SQLite does not report the error of the system behind them. */
const WRITE_ERRORS: ReadonlySet<string> = new Set(
  ['WRITE', 'FSYNC', 'DIR_FSYNC', 'TRUNCATE', 'DELETE', 'CLOSE', 'SHMOPEN', 'SHMSIZE', 'SHMMAP'].map(
    (name) => `SQLITE_IOERR_${name}`,
  ),
);

/** Returns whether an error is a failed write whose cause a probe of the disk must find. */
export function isFailedWrite(error: unknown): boolean {
  return WRITE_ERRORS.has(sqliteCode(error) ?? '');
}

/** The error code of the system that a probe of the disk met; `passed` without one. */
export type Probe = string;

/** Returns the result of the probe after a failed write. */
export function probeOf(error: unknown): Probe | undefined {
  return isError(error) && 'probe' in error && typeof error.probe === 'string' ? error.probe : undefined;
}

/** The problems by the system's error code. Those of `toProblem` are for a probe, or for the check of the path. */
const PROBLEM_BY_ERRNO: Readonly<Record<string, ProblemCode | undefined>> = {
  ENOSPC: 'no_space',
  EDQUOT: 'no_space',
  EFBIG: 'no_space',
  EROFS: 'read_only',
  EIO: 'disk_error',
  ENXIO: 'disk_error',
  ENODEV: 'disk_error',
};

/** Returns the problem of a failing disk, or undefined for another error. Keeps the probe in the error, for the log. */
function diskProblem(error: unknown, probe: Probe | undefined): Problem | undefined {
  const code = errorCode(error) ?? '';
  const isDisk = code.startsWith('SQLITE_IOERR') || PROBLEM_BY_ERRNO[code] !== undefined;
  if (!isDisk) return undefined;
  const cause = probe === undefined ? error : Object.assign(error as Error, { probe });
  return new Problem(PROBLEM_BY_ERRNO[probe ?? code] ?? 'disk_error', { cause, retryAfter: 1 });
}

/** The problems by result code, or by the first two words of one. */
const PROBLEM_BY_CODE: Readonly<Record<string, ProblemCode | undefined>> = {
  SQLITE_CORRUPT: 'integrity_failure',
  SQLITE_NOTADB: 'integrity_failure',
  SQLITE_IOERR_SHORT_READ: 'integrity_failure',
  SQLITE_IOERR_CORRUPTFS: 'integrity_failure',
  SQLITE_IOERR_DATA: 'integrity_failure',
  // These mean rows that violate the tables' declarations, such as a tombstone of a live token, or a header that
  // requires a newer SQLite. This code writes neither.
  SQLITE_CONSTRAINT: 'integrity_failure',
  SQLITE_MISMATCH: 'integrity_failure',
  SQLITE_READONLY: 'integrity_failure',
  // A folder without access is not damage.
  SQLITE_READONLY_DIRECTORY: undefined,
  SQLITE_READONLY_DBMOVED: 'vault_moved',
  SQLITE_CANTOPEN: 'vault_moved',
};

/**
 * Returns the problem for an error of SQLite or the disk; returns any other error unchanged. `probe` is the result for
 * a failed write.
 */
export function toProblem(error: unknown, probe?: Probe): unknown {
  if (isBusy(error) || shortageOf(error) !== undefined) return vaultBusy(error);
  const code = sqliteCode(error);
  if (code === undefined) return diskProblem(error, probe) ?? error;
  if (NO_SPACE_CODES.has(code)) return new Problem('no_space', { cause: error, retryAfter: 1 });
  const primary = code.split('_', 2).join('_');
  const problem = Object.hasOwn(PROBLEM_BY_CODE, code) ? PROBLEM_BY_CODE[code] : PROBLEM_BY_CODE[primary];
  if (problem === 'vault_moved') return new Problem(problem, { cause: error, retryAfter: 1 });
  if (problem === undefined) return diskProblem(error, probe) ?? error;
  return new Problem(problem, { cause: error });
}

export function vaultBusy(cause: unknown): Problem {
  return new Problem('vault_busy', { cause, retryAfter: 1 });
}

/** Returns the system's error if an error of SQLite or of the system means too few descriptors, else undefined. */
function shortageOf(error: unknown): unknown {
  if (sqliteCode(error)?.startsWith('SQLITE_CANTOPEN')) return findShortage();
  return isShortage(error) ? error : undefined;
}

/** Returns the fault `too_many_files` if too few descriptors caused the error, else undefined. */
export function tooManyFiles(path: string, error: unknown): Fault | undefined {
  const cause = shortageOf(error);
  if (cause === undefined) return undefined;
  return new Fault('too_many_files', `${path} cannot be opened: too many files are open (${errorCode(cause)})`, {
    cause,
  });
}

/** Returns the fault for a file that cannot be written because its disk is mounted only for reading. */
export function onReadOnlyDisk(file: string, cause: unknown): Fault {
  return new Fault('file_unwritable', `${file} is on a read-only disk (EROFS)`, { hint: diskHint('EROFS'), cause });
}

/** The faults and their messages, by the result code or its first two words. */
const FAULT_BY_CODE: Readonly<Record<string, readonly [FaultCode, string]>> = {
  SQLITE_NOTADB: ['not_a_vault', 'is not a vault'],
  SQLITE_CORRUPT: ['damaged', 'is damaged'],
  SQLITE_IOERR: ['disk_error', 'cannot be read or written: its disk reports an error'],
  SQLITE_IOERR_SHORT_READ: ['damaged', 'cannot be read completely'],
  SQLITE_IOERR_CORRUPTFS: ['damaged', 'is damaged'],
  SQLITE_IOERR_DATA: ['damaged', 'is damaged'],
  SQLITE_ERROR: ['damaged', 'is damaged'],
  SQLITE_BUSY: ['locked_by_other', 'is locked by another process'],
  SQLITE_CANTOPEN: ['file_unwritable', 'cannot be opened for writing'],
  SQLITE_READONLY: ['file_unwritable', 'cannot be written'],
  SQLITE_PERM: ['file_unwritable', 'cannot be opened for writing'],
};

/**
 * Returns the fault for an error of SQLite on the vault `file`; returns any other error unchanged. `probe` is the
 * result for a failed write.
 */
export function toFileFault(file: string, error: unknown, probe?: Probe): unknown {
  const shortage = tooManyFiles(file, error);
  if (shortage !== undefined) return shortage;
  const code = sqliteCode(error) ?? '';
  const hint = diskHint(probe);
  // Opening a vault creates its log and shared memory, so a full disk is not damage.
  if (NO_SPACE_CODES.has(probe ?? code)) {
    return new Fault('no_space', `${file} has no space left beside it`, { hint, cause: error });
  }
  if (probe === 'EROFS') return new Fault('disk_error', `${file} is on a read-only disk`, { hint, cause: error });
  if (code === 'SQLITE_READONLY_DBMOVED') {
    return new Fault('locked_by_other', `${file} was replaced by another process`, { hint: 'try again', cause: error });
  }
  const primary = code.split('_', 2).join('_');
  const row = Object.hasOwn(FAULT_BY_CODE, code) ? FAULT_BY_CODE[code] : FAULT_BY_CODE[primary];
  return row === undefined ? error : new Fault(row[0], `${file} ${row[1]}`, { cause: error });
}
