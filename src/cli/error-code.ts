/** What the system calls an error: `ENOENT`; `unknown error` of one that is not the system's. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown error';
}
