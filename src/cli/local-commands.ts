import type { Command } from 'commander';
import type { Finish } from './exit-codes.ts';

interface LocalCommand {
  readonly command: readonly [string] | readonly [string, string];
  readonly summary: string;
  /** It goes through a door, to the file or to a daemon, as operations do. */
  readonly usesDoor?: boolean;
  /** Gives the subcommand its flags and its action; loaded when the subcommand is called. */
  readonly load: () => Promise<(command: Command, finish: Finish) => void>;
}

/** The subcommands that have no endpoint behind them. */
export const LOCAL_COMMANDS: readonly LocalCommand[] = [
  {
    command: ['init'],
    summary: 'Make an encrypted file, its first tenant and that tenant’s management application',
    load: async () => (await import('./local/init.ts')).defineInit,
  },
  {
    command: ['serve'],
    summary: 'Serve the whole API on the file',
    load: async () => (await import('./local/serve.ts')).defineServe,
  },
  {
    command: ['exec'],
    summary: 'Run a command with a vault that is there for its time',
    load: async () => (await import('./local/exec.ts')).defineExec,
  },
  {
    command: ['wait'],
    summary: 'Wait until the daemon is ready',
    load: async () => (await import('./local/wait.ts')).defineWait,
  },
  {
    command: ['env'],
    summary: 'Print the lines that set a shell up for a daemon',
    load: async () => (await import('./local/env.ts')).defineEnv,
  },
  {
    command: ['completion'],
    summary: 'Print the completion script of a shell',
    load: async () => (await import('./completion/completion.ts')).defineCompletion,
  },
  {
    command: ['openapi'],
    summary: 'Print the OpenAPI document of the API',
    load: async () => (await import('./local/openapi.ts')).defineOpenApi,
  },
  {
    command: ['tenant', 'create'],
    summary: 'Make another tenant in the file, with its first management application',
    load: async () => (await import('./local/tenants.ts')).defineTenantCreate,
  },
  {
    command: ['tenant', 'list'],
    summary: 'List the tenants of the file',
    load: async () => (await import('./local/tenants.ts')).defineTenantList,
  },
  {
    command: ['tenant', 'issue-key'],
    summary: 'Make a fresh management application: the way back after a lost key',
    load: async () => (await import('./local/tenants.ts')).defineTenantIssueKey,
  },
  {
    command: ['keys', 'list'],
    summary: 'List the key files and passphrases that open the file',
    load: async () => (await import('./local/keys.ts')).defineKeysList,
  },
  {
    command: ['keys', 'add'],
    summary: 'Let another key file or passphrase open the file',
    load: async () => (await import('./local/keys.ts')).defineKeysAdd,
  },
  {
    command: ['keys', 'remove'],
    summary: 'Remove a key file or a passphrase: it no longer opens the file',
    load: async () => (await import('./local/keys.ts')).defineKeysRemove,
  },
  {
    command: ['keys', 'status'],
    summary: 'Show the keys of each tenant, and whether a rotation is unfinished',
    load: async () => (await import('./local/keys-status.ts')).defineKeysStatus,
  },
  {
    command: ['keys', 'rotate'],
    summary: 'Seal every record anew under new keys, and destroy the old ones',
    load: async () => (await import('./local/keys-rotate.ts')).defineKeysRotate,
  },
  {
    command: ['audit', 'list'],
    summary: 'List the last entries of the audit, newest first',
    load: async () => (await import('./local/audit.ts')).defineAuditList,
  },
  {
    command: ['audit', 'verify'],
    summary: 'Check that no entry of the audit was altered, moved or taken out',
    load: async () => (await import('./local/audit.ts')).defineAuditVerify,
  },
  {
    command: ['audit', 'export'],
    summary: 'Write out the whole audit, a line of JSON an entry, oldest first',
    load: async () => (await import('./local/audit.ts')).defineAuditExport,
  },
  {
    command: ['backup'],
    summary: 'Copy the file while others use it, and check the copy',
    load: async () => (await import('./local/backup.ts')).defineBackup,
  },
  {
    command: ['restore'],
    summary: 'Make a vault of a backup, checked first',
    load: async () => (await import('./local/restore.ts')).defineRestore,
  },
  {
    command: ['snapshot', 'save'],
    summary: 'Keep the state of the file under a name, while others use it',
    load: async () => (await import('./local/snapshot.ts')).defineSnapshotSave,
  },
  {
    command: ['snapshot', 'list'],
    summary: 'List the snapshots of the file',
    load: async () => (await import('./local/snapshot.ts')).defineSnapshotList,
  },
  {
    command: ['snapshot', 'load'],
    summary: 'Go back to a snapshot in one step, while others use the file',
    load: async () => (await import('./local/snapshot.ts')).defineSnapshotLoad,
  },
  {
    command: ['snapshot', 'delete'],
    summary: 'Delete a snapshot',
    load: async () => (await import('./local/snapshot.ts')).defineSnapshotDelete,
  },
  {
    command: ['reset'],
    summary: 'Remove all tokens; applications and their API keys stay',
    load: async () => (await import('./local/snapshot.ts')).defineReset,
  },
  {
    command: ['export'],
    summary: 'Write the tokens to a file, sealed unless it is told otherwise',
    load: async () => (await import('./local/export.ts')).defineExport,
  },
  {
    command: ['import'],
    summary: 'Make tokens of the rows of a file, NDJSON or CSV',
    load: async () => (await import('./local/import.ts')).defineImport,
  },
  {
    command: ['keygen'],
    summary: 'Make a key pair to seal exports for',
    load: async () => (await import('./local/keygen.ts')).defineKeygen,
  },
  {
    command: ['doctor'],
    summary: 'Open and check everything in the file, and name what is wrong',
    load: async () => (await import('./local/doctor.ts')).defineDoctor,
  },
  {
    command: ['clock', 'set'],
    summary: 'Let the clock of a --dev daemon go on from a time',
    load: async () => (await import('./local/clock.ts')).defineClockSet,
  },
  {
    command: ['clock', 'advance'],
    summary: 'Put the clock of a --dev daemon forward; what has expired then is removed',
    load: async () => (await import('./local/clock.ts')).defineClockAdvance,
  },
  {
    command: ['clock', 'reset'],
    summary: 'Put the clock of a --dev daemon back to that of its machine',
    load: async () => (await import('./local/clock.ts')).defineClockReset,
  },
  {
    command: ['faults', 'set'],
    summary: 'Let the next requests to a --dev daemon fail, wait or be dropped',
    load: async () => (await import('./local/faults.ts')).defineFaultsSet,
  },
  {
    command: ['faults', 'list'],
    summary: 'List the faults that are still to happen',
    load: async () => (await import('./local/faults.ts')).defineFaultsList,
  },
  {
    command: ['faults', 'clear'],
    summary: 'Forget the faults that are still to happen',
    load: async () => (await import('./local/faults.ts')).defineFaultsClear,
  },
  {
    command: ['seed', 'apply'],
    summary: 'Make the tenant, the applications and the tokens that files name; a second time changes nothing',
    usesDoor: true,
    load: async () => (await import('./local/seed.ts')).defineSeedApply,
  },
  {
    command: ['seed', 'schema'],
    summary: 'Print the JSON Schema of a seed file',
    load: async () => (await import('./local/seed.ts')).defineSeedSchema,
  },
  {
    command: ['profile', 'add'],
    summary: 'Keep what reaches a vault under a name',
    load: async () => (await import('./local/profile.ts')).defineProfileAdd,
  },
  {
    command: ['profile', 'use'],
    summary: 'Make a profile the one for commands that name no vault',
    load: async () => (await import('./local/profile.ts')).defineProfileUse,
  },
  {
    command: ['profile', 'list'],
    summary: 'List the profiles',
    load: async () => (await import('./local/profile.ts')).defineProfileList,
  },
  {
    command: ['profile', 'remove'],
    summary: 'Remove a profile',
    load: async () => (await import('./local/profile.ts')).defineProfileRemove,
  },
];
