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
