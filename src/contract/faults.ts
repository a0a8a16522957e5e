/** The hints for a failed write, by the error code of the system. */
const DISK_HINTS = {
  ENOSPC: 'make room on the disk and try again',
  EDQUOT: 'raise the quota, or remove files, and try again',
  EFBIG: 'raise the limit of the file size (`ulimit -f`) and try again',
  EROFS: 'mount the disk for writing; the log of the kernel has the reason',
  EIO: 'check the disk, then run `vault doctor`',
} as const;

/** Returns the hint for an error code of the system; undefined for a code without one. */
export function diskHint(errno: string | undefined): string | undefined {
  const hints: Readonly<Record<string, string>> = DISK_HINTS;
  return errno !== undefined && Object.hasOwn(hints, errno) ? hints[errno] : undefined;
}

interface FaultRow {
  readonly exit: 1 | 2 | 3 | 4 | 6 | 7 | 8 | 9 | 10;
  readonly hint?: string;
}

/**
 * The errors of opening, creating or serving a vault on this machine, with the command's exit code. Callers of the API
 * receive problems, never faults.
 */
export const FAULTS = {
  usage: { exit: 2 },
  /** The member of a request whose flag has a wrong value. The API has a problem of this code. */
  invalid_request: { exit: 7 },
  invalid_data: { exit: 7 },
  conflict: { exit: 6 },
  file_missing: { exit: 2, hint: 'create a vault with `vault init --file FILE`' },
  file_exists: { exit: 6, hint: 'name another file; existing files are never changed' },
  file_unsafe: { exit: 2, hint: 'make the vault a regular file of your own with mode 0600: `chmod 600 FILE`' },
  file_unwritable: { exit: 2, hint: 'make the folder of the vault writable; the log file is also written there' },
  not_a_vault: { exit: 9, hint: 'name a file that `vault init` created' },
  newer_format: { exit: 9, hint: 'update this program; a newer version created the file' },
  damaged: {
    exit: 9,
    hint: 'run `vault doctor` to find the damage, or restore a backup: `vault restore` (database: pg_restore)',
  },
  wrong_credential: { exit: 10, hint: 'pass the key file or the passphrase of the vault' },
  credential_missing: {
    exit: 2,
    hint: 'set --key-file (VAULT_KEY_FILE), --key-command (VAULT_KEY_COMMAND) or --passphrase-file (VAULT_PASSPHRASE_FILE)',
  },
  weak_passphrase: { exit: 2, hint: 'use at least 12 characters, or pass --weak-passphrase' },
  locked_by_other: { exit: 8, hint: 'try again; another process has locked the file' },
  address_in_use: { exit: 8, hint: 'choose another --port, or 0 for a free one' },
  unreachable: { exit: 8, hint: 'start the daemon with `vault serve`, then run `vault wait`' },
  not_ready: { exit: 8 },
  store_unreachable: { exit: 8, hint: "start the database, or check the hosts and ports of the store's URL" },
  store_refused: { exit: 8, hint: "check the user, the password and the database of the store's URL" },
  store_insecure: { exit: 2 },
  store_missing: { exit: 2, hint: 'create a vault with `vault init --store URL`' },
  not_found: { exit: 3 },
  apply_ended: { exit: 4, hint: 'apply the seed again when the other apply has ended' },
  no_space: { exit: 1, hint: DISK_HINTS.ENOSPC },
  disk_error: { exit: 1, hint: DISK_HINTS.EIO },
  too_many_files: { exit: 1, hint: 'close files, or raise the limit on open files (`ulimit -n`), and try again' },
  binding_missing: { exit: 1, hint: 'install again; on musl, also install libstdc++' },
} as const satisfies Record<string, FaultRow>;

export type FaultCode = keyof typeof FAULTS;
