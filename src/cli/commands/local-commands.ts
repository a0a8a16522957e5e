import type { Command } from 'commander';
import type { Finish } from '../exit-codes.ts';
import type { Define } from './printing.ts';

/** The subcommands without an endpoint. */
export const LOCAL_COMMANDS = [
  ...commandsOf(() => import('./file/init.ts'), { init: ['defineInit', 'Create a vault and its first tenant'] }),
  ...commandsOf(() => import('./serve/serve.ts'), { serve: ['defineServe', 'Serve the API over HTTP'] }),
  ...commandsOf(() => import('./ui/ui.ts'), { ui: ['defineUi', 'Open a vault in the browser'] }),
  ...commandsOf(() => import('./dev/exec.ts'), { exec: ['defineExec', 'Run a command with a temporary vault'] }),
  ...commandsOf(() => import('./serve/wait.ts'), { wait: ['defineWait', 'Wait until a daemon is ready'] }),
  ...commandsOf(() => import('./dev/env.ts'), { env: ['defineEnv', 'Print shell variables for a daemon'] }),
  ...commandsOf(() => import('../completion/completion.ts'), {
    completion: ['defineCompletion', 'Print a shell completion script'],
  }),
  ...commandsOf(() => import('./openapi.ts'), { openapi: ['defineOpenApi', 'Print the OpenAPI document'] }),
  ...commandsOf(() => import('./tenants/tenants.ts'), {
    'tenant create': ['defineTenantCreate', 'Create a tenant and its management application'],
    'tenant list': ['defineTenantList', 'List the tenants of the vault'],
    'tenant issue-key': ['defineTenantIssueKey', 'Create a management application after a lost key'],
  }),
  ...commandsOf(() => import('./keys/keys.ts'), {
    'keys list': ['defineKeysList', 'List key files and passphrases'],
    'keys add': ['defineKeysAdd', 'Add a key file or a passphrase'],
    'keys remove': ['defineKeysRemove', 'Remove a key file or a passphrase'],
    'keys status': ['defineKeysStatus', 'Show the keys of each tenant'],
    'keys rotate': ['defineKeysRotate', 'Replace the keys and destroy the old ones'],
  }),
  ...commandsOf(() => import('./audit/audit.ts'), {
    'audit list': ['defineAuditList', 'List audit entries, newest first'],
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
  ...commandsOf(() => import('./file/migrate.ts'), { migrate: ['defineMigrate', 'Update the tables of a database'] }),
  ...commandsOf(() => import('./snapshots/snapshot.ts'), {
    'snapshot save': ['defineSnapshotSave', 'Save the state of the file'],
    'snapshot list': ['defineSnapshotList', 'List the snapshots of the file'],
    'snapshot load': ['defineSnapshotLoad', 'Load a snapshot in one transaction'],
    'snapshot delete': ['defineSnapshotDelete', 'Delete a snapshot'],
    reset: ['defineReset', 'Remove all tokens and keep the applications'],
  }),
  ...commandsOf(() => import('./transfer/export.ts'), { export: ['defineExport', 'Export tokens, sealed by default'] }),
  ...commandsOf(() => import('./transfer/import.ts'), { import: ['defineImport', 'Import tokens from NDJSON or CSV'] }),
  ...commandsOf(() => import('./keys/keygen.ts'), { keygen: ['defineKeygen', 'Create a key pair for sealed exports'] }),
  ...commandsOf(() => import('./file/doctor.ts'), {
    doctor: ['defineDoctor', 'Check every record, index and counter'],
  }),
  ...commandsOf(() => import('./dev/clock.ts'), {
    'clock show': ['defineClockShow', 'Show the clock of a --dev daemon'],
    'clock set': ['defineClockSet', 'Set the clock of a --dev daemon'],
    'clock advance': ['defineClockAdvance', 'Advance the clock of a --dev daemon'],
    'clock reset': ['defineClockReset', 'Reset the clock of a --dev daemon'],
  }),
  ...commandsOf(() => import('./dev/faults.ts'), {
    'faults set': ['defineFaultsSet', 'Fail, delay or drop the next requests'],
    'faults list': ['defineFaultsList', 'List the remaining faults'],
    'faults clear': ['defineFaultsClear', 'Remove the remaining faults'],
  }),
  ...commandsOf(() => import('./dev/requests.ts'), {
    'requests list': ['defineRequestsList', 'List the last requests of a --dev daemon'],
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
    async define(command: Command, finish: Finish) {
      (await load())[name](command, finish);
      const examples = EXAMPLES[words];
      if (examples === undefined) return;
      command.addHelpText('after', `\nExamples:\n${examples.map((line) => `  ${line}`).join('\n')}`);
    },
  }));
}

/** Complete command lines for the help of commands without an endpoint; some commands define their own. */
const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  init: [
    'vault init --file vault.db --key-out management.key',
    'vault init --file vault.db --key-file /media/usb/vault.key --tenant Shop',
    'vault init --file vault.db --passphrase-file -',
    "vault init --store 'postgres://owner@db.test/vault' \\\n    --key-file vault.key --grant daemon",
  ],
  serve: [
    'vault serve --dev',
    'vault serve --dev --port 0 --ready-file ready.json \\\n    --seed-file seed.yaml --seed 7',
    'vault serve --file vault.db --socket ./vault.sock',
    "vault serve --store 'postgres://daemon@db.test/vault' --key-file vault.key",
    'vault serve --file vault.db --host 0.0.0.0 \\\n    --tls-cert cert.pem --tls-key key.pem',
  ],
  ui: [
    'vault ui',
    'vault ui --file vault.db --api-key-file management.key',
    'vault ui --url https://vault.test:8484 --no-open',
  ],
  wait: ['vault wait --ready-file ready.json', 'vault wait --url http://127.0.0.1:8484 --timeout 2m'],
  openapi: ['vault openapi > openapi.json', 'vault openapi --server-url http://127.0.0.1:8484'],
  'tenant create': ['vault tenant create --name Shop --key-out shop.key'],
  'tenant list': ['vault tenant list', 'vault tenant list -q'],
  'tenant issue-key': ['vault tenant issue-key --tenant ID --key-out management.key'],
  'keys list': ['vault keys list'],
  'keys add': [
    'vault keys add --new-key-file spare.key --label spare',
    "vault keys add --new-key-command 'pass show vault'",
    'vault keys add --passphrase-file old.txt --new-passphrase-file new.txt',
  ],
  'keys remove': ['vault keys remove --slot 1', 'vault keys remove --label lost-laptop'],
  'keys status': ['vault keys status'],
  'keys rotate': ['vault keys rotate --yes', 'vault keys rotate --tenant ID --indexes', 'vault keys rotate --master'],
  keygen: ['vault keygen --out secret', 'recipient=$(vault keygen --out secret --field recipient)'],
  backup: [
    'vault backup monday.db',
    'vault backup --keep 14 /mnt/backups',
    'vault backup - | ssh host "cat > monday.db"',
    'vault backup --verify monday.db --key-file vault.db.key',
  ],
  restore: ['vault restore monday.db --file vault.db --key-file vault.db.key'],
  compact: ['vault compact', 'vault compact --file vault.db --field bytes_after'],
  move: [
    "vault move --from vault.db --to 'postgres://owner@db.test/vault' \\\n    --grant daemon",
    "vault move --from 'postgres://owner@db.test/vault' --to vault.db \\\n    --key-file vault.key --verify full",
    'vault move --abort --from vault.db --to copy.db',
  ],
  migrate: ["vault migrate --dry-run --store 'postgres://owner@db.test/vault'"],
  doctor: ['vault doctor', 'vault doctor --file vault.db --field ok'],
  'audit list': [
    'vault audit list --entity ID',
    'vault audit list --denied --since 24h',
    'vault audit list --action deleteToken --limit 10 -o csv',
  ],
  'audit verify': ['vault audit verify --field ok', 'vault audit verify --archive audit-2025'],
  'audit prune': [
    'vault audit prune --before 2026-01-01 --archive audit-2025',
    'vault audit prune --before 400d --archive /mnt/archive/audit',
  ],
  'audit export': ['vault audit export --out audit.ndjson'],
  'snapshot save': ['vault snapshot save seeded', 'vault snapshot save seeded --replace'],
  'snapshot list': ['vault snapshot list'],
  'snapshot load': ['vault snapshot load seeded --yes', 'vault snapshot load seeded --yes --url http://127.0.0.1:8484'],
  'snapshot delete': ['vault snapshot delete seeded'],
  reset: ['vault reset --yes', 'vault reset --yes --compact', 'vault reset --tenant ID'],
  export: [
    'vault export --recipient KEY --out tokens.sealed',
    'vault export --masked --plaintext --format csv --out masked.csv',
    'vault export --url http://127.0.0.1:8484 \\\n    --seal-passphrase-file phrase.txt --out tokens.sealed',
  ],
  import: [
    'vault import tokens.sealed --identity secret',
    'vault import cards.csv --type card --map number=pan --map metadata.customer=id',
    'vault import tokens.ndjson --resume import.journal --errors refused.ndjson',
  ],
  'seed schema': ['vault seed schema > seed.schema.json'],
  'profile add': [
    'vault profile add staging --url https://vault.test:8484 --api-key -',
    'vault profile add local --file vault.db --api-key-file backend.key',
  ],
  'profile list': ['vault profile list'],
  'profile use': ['vault profile use staging'],
  'profile remove': ['vault profile remove staging'],
};
