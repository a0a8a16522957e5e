interface FaultRow {
  readonly exit: 1 | 2 | 3 | 6 | 7 | 8 | 9 | 10;
  readonly hint?: string;
}

/**
 * Every way that opening, making or serving a vault on this machine can fail, with the exit code that a command ends with. A
 * fault never reaches a caller of the API: those are told problems.
 */
export const FAULTS = {
  usage: { exit: 2 },
  invalid_data: { exit: 7 },
  conflict: { exit: 6 },
  file_missing: { exit: 2, hint: 'make one with `vault init --file FILE`' },
  file_exists: { exit: 6, hint: 'name another file; an existing one is never touched' },
  file_unsafe: { exit: 2, hint: 'a vault is a regular file of your own, with mode 0600: `chmod 600 FILE`' },
  file_unwritable: { exit: 2, hint: 'the folder of the vault must be writable: its log stands beside it' },
  not_a_vault: { exit: 9, hint: 'the file was not made by `vault init`' },
  newer_format: { exit: 9, hint: 'the file was made by a newer vault: update this one' },
  damaged: { exit: 9, hint: '`vault doctor` names what is damaged; `vault restore` brings back a backup' },
  wrong_credential: { exit: 10, hint: 'give the key file or the passphrase that the vault was made with' },
  credential_missing: {
    exit: 2,
    hint: 'set --key-file (VAULT_KEY_FILE) or --passphrase-file (VAULT_PASSPHRASE_FILE)',
  },
  weak_passphrase: { exit: 2, hint: 'use at least 12 characters, or say --weak-passphrase' },
  locked_by_other: { exit: 8, hint: 'another process holds the file; try again' },
  address_in_use: { exit: 8, hint: 'choose another --port, or 0 for a free one' },
  unreachable: { exit: 8, hint: 'is the daemon running? `vault serve`, then `vault wait`' },
  not_ready: { exit: 8 },
  not_found: { exit: 3 },
  no_space: { exit: 1, hint: 'make room on the disk and try again' },
  disk_error: { exit: 1, hint: 'check the disk, then run `vault doctor`' },
  binding_missing: { exit: 1, hint: 'install again; on musl, libstdc++ must be installed, too' },
} as const satisfies Record<string, FaultRow>;

export type FaultCode = keyof typeof FAULTS;
