import type { FaultCode } from '../../contract/faults.ts';
import { Fault } from '../../core/fault.ts';
import { NO_SPACE_CODES, sqliteCode } from './sqlite-error.ts';

/** By the first two words of the result code. */
const FAULT_BY_CODE: Readonly<Record<string, readonly [FaultCode, string]>> = {
  SQLITE_NOTADB: ['not_a_vault', 'is not a vault'],
  SQLITE_CORRUPT: ['damaged', 'is damaged'],
  SQLITE_IOERR: ['damaged', 'cannot be read whole'],
  SQLITE_ERROR: ['damaged', 'is damaged'],
  SQLITE_BUSY: ['locked_by_other', 'is locked by another process'],
  SQLITE_CANTOPEN: ['file_unwritable', 'cannot be opened for writing'],
  SQLITE_READONLY: ['file_unwritable', 'cannot be written'],
  SQLITE_PERM: ['file_unwritable', 'cannot be opened for writing'],
};

/** The fault that stands for an error of SQLite on the vault `file`; any other error stays what it is. */
export function toFileFault(file: string, error: unknown): unknown {
  const code = sqliteCode(error) ?? '';
  // To open a vault, its log and its shared memory are made beside it: a full disk is no damage.
  if (NO_SPACE_CODES.has(code)) return new Fault('no_space', `${file} has no space left beside it`, { cause: error });
  const primary = code.split('_', 2).join('_');
  const row = Object.hasOwn(FAULT_BY_CODE, primary) ? FAULT_BY_CODE[primary] : undefined;
  return row === undefined ? error : new Fault(row[0], `${file} ${row[1]}`, { cause: error });
}
