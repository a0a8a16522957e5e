import type { Command } from 'commander';
import type { Define } from './subcommand.ts';

/** The subcommands without an endpoint. */
export const LOCAL_COMMANDS = [
  ...commandsOf(() => import('./file/init.ts'), { init: ['defineInit', 'Create a vault and its first tenant'] }),
  ...commandsOf(() => import('./serve/serve.ts'), {
    serve: ['defineServe', 'Serve the API; --dev: a temporary vault'],
  }),
  ...commandsOf(() => import('./ui/ui.ts'), { ui: ['defineUi', 'Open a vault in the browser'] }),
  ...commandsOf(() => import('./dev/exec.ts'), { exec: ['defineExec', 'Run a command with a temporary vault'] }),
  ...commandsOf(() => import('./serve/wait.ts'), { wait: ['defineWait', 'Wait until a daemon is ready'] }),
  ...commandsOf(() => import('./dev/env.ts'), { env: ['defineEnv', 'Print shell variables for a daemon'] }),
  ...commandsOf(() => import('../completion/completion.ts'), {
    completion: ['defineCompletion', 'Print a shell completion script'],
  }),
  ...commandsOf(() => import('./openapi.ts'), { openapi: ['defineOpenApi', 'Print the OpenAPI document'] }),
  ...commandsOf(() => import('./apps/change-application.ts'), {
    'apps grant': ['defineAppsGrant', 'Add permissions and rules to an application'],
    'apps revoke': ['defineAppsRevoke', 'Remove permissions and rules from an application'],
    'apps edit': ['defineAppsEdit', 'Change only the named members of an application'],
  }),
  ...commandsOf(() => import('./tenants/tenants.ts'), {
    'tenant create': ['defineTenantCreate', 'Create a tenant and its management application'],
    'tenant list': ['defineTenantList', 'List the tenants of the vault'],
    'tenant issue-key': ['defineTenantIssueKey', 'Create a management application after a lost key'],
    'tenant accept': ['defineTenantAccept', 'Accept altered records of a closed tenant'],
  }),
  ...commandsOf(() => import('./keys/keys.ts'), {
    'keys list': ['defineKeysList', 'List key files and passphrases'],
    'keys add': ['defineKeysAdd', 'Add a key file or a passphrase'],
    'keys remove': ['defineKeysRemove', 'Remove a key file or a passphrase'],
    'keys rotate': ['defineKeysRotate', 'Replace the keys and destroy the old ones'],
  }),
  ...commandsOf(() => import('./audit/audit.ts'), {
    'audit verify': ['defineAuditVerify', 'Verify the chain of audit entries'],
    'audit export': ['defineAuditExport', 'Export the whole audit as NDJSON'],
    'audit prune': ['defineAuditPrune', 'Move old audit entries to an archive'],
  }),
  ...commandsOf(() => import('./file/backup.ts'), {
    backup: ['defineBackup', 'Make a verified copy of the file'],
    restore: ['defineRestore', 'Restore a verified backup'],
  }),
  ...commandsOf(() => import('./file/compact.ts'), {
    compact: ['defineCompact', 'Return free space to the file system'],
  }),
  ...commandsOf(() => import('./file/move.ts'), { move: ['defineMove', 'Move a vault to another file or database'] }),
  ...commandsOf(() => import('./snapshots/snapshot.ts'), {
    'dev snapshot save': ['defineSnapshotSave', 'Save the state of the file'],
    'dev snapshot list': ['defineSnapshotList', 'List the snapshots of the file'],
    'dev snapshot load': ['defineSnapshotLoad', 'Load a snapshot in one transaction'],
    'dev snapshot delete': ['defineSnapshotDelete', 'Delete a snapshot'],
    'dev reset': ['defineReset', 'Remove all tokens and keep the applications'],
  }),
  ...commandsOf(() => import('./transfer/export.ts'), {
    export: ['defineExport', 'Export tokens, encrypted by default'],
  }),
  ...commandsOf(() => import('./transfer/import.ts'), { import: ['defineImport', 'Import tokens from NDJSON or CSV'] }),
  ...commandsOf(() => import('./transfer/keygen.ts'), { keygen: ['defineKeygen', 'Create a key pair for exports'] }),
  ...commandsOf(() => import('./file/doctor.ts'), {
    doctor: ['defineDoctor', 'Check every record, index and counter'],
  }),
  ...commandsOf(() => import('./dev/clock.ts'), {
    'dev clock show': ['defineClockShow', 'Show the clock of a --dev daemon'],
    'dev clock set': ['defineClockSet', 'Set the clock of a --dev daemon'],
    'dev clock advance': ['defineClockAdvance', 'Advance the clock of a --dev daemon'],
    'dev clock reset': ['defineClockReset', 'Reset the clock of a --dev daemon'],
  }),
  ...commandsOf(() => import('./dev/faults.ts'), {
    'dev faults set': ['defineFaultsSet', 'Fail, delay or drop the next requests'],
    'dev faults list': ['defineFaultsList', 'List the remaining faults'],
    'dev faults clear': ['defineFaultsClear', 'Remove the remaining faults'],
  }),
  ...commandsOf(() => import('./dev/requests.ts'), {
    'dev requests': ['defineRequestsList', 'List the last requests of a --dev daemon'],
  }),
  ...commandsOf(() => import('./seed/seed.ts'), {
    'seed apply': ['defineSeedApply', 'Apply seed files'],
    'seed schema': ['defineSeedSchema', 'Print the JSON Schema of a seed file'],
  }),
  ...commandsOf(() => import('./profile/profile.ts'), {
    'profile add': ['defineProfileAdd', 'Save a vault and its credentials'],
    'profile use': ['defineProfileUse', 'Make a profile the default'],
    'profile list': ['defineProfileList', 'List the profiles'],
    'profile remove': ['defineProfileRemove', 'Remove a profile'],
  }),
];

/** Returns the commands that one module defines. Loads the module only when a command is needed. */
function commandsOf<const Name extends string>(
  load: () => Promise<Readonly<Record<NoInfer<Name>, Define>>>,
  rows: Readonly<Record<string, readonly [define: Name, summary: string]>>,
) {
  return Object.entries(rows).map(([words, [name, summary]]) => ({
    words: words.split(' '),
    summary,
    define: async (command: Command) => (await load())[name](command),
  }));
}
