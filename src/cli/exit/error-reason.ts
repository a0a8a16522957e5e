import { diskHint } from '../../contract/faults.ts';
import { errorCode, Fault } from '../../core/fault.ts';

/** Returns the code of a system error for a message; `unknown error` for other errors. */
export function reasonOf(error: unknown): string {
  return errorCode(error) ?? 'unknown error';
}

/** Returns whether the system refused a write because the disk or a quota is full. */
export function isFullDisk(error: unknown): boolean {
  const code = errorCode(error);
  return code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG';
}

/** Returns the fault `no_space`, which names the flag and the file, if a full disk caused the error; else undefined. */
export function noSpaceFor(flag: string, path: string, error: unknown): Fault | undefined {
  if (!isFullDisk(error)) return undefined;
  return new Fault('no_space', `${flag}: there is no space left for ${path}`, {
    hint: diskHint(errorCode(error)),
    cause: error,
  });
}
