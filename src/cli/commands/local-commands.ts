import type { Command } from 'commander';
import type { Finish } from '../exit-codes.ts';
import { FLAGS, type FlagRow, VAULT_FLAGS } from '../global-flags.ts';

type Define = (command: Command, finish: Finish) => void;

interface LocalCommand {
  readonly command: readonly [string] | readonly [string, string];
  readonly summary: string;
  /** It goes through a target, to the file or to a daemon, as operations do. */
  readonly usesTarget: boolean;
  /** Gives the subcommand its flags and its action; loaded when the subcommand is called. */
  readonly load: () => Promise<Define>;
}

/** The export that defines the command, and the summary. */
type Row<Name extends string> = readonly [define: Name, summary: string, target?: 'target'];

/** The subcommands that have no endpoint behind them. */
export const LOCAL_COMMANDS: readonly LocalCommand[] = [
  ...commandsOf(() => import('./file/init.ts'), {
    init: ['defineInit', 'Make an encrypted file, its first tenant and that tenant’s management application'],
  }),
  ...commandsOf(() => import('./serve/serve.ts'), {
    serve: ['defineServe', 'Serve the whole API on the file'],
  }),
  ...commandsOf(() => import('./dev/exec.ts'), {
    exec: ['defineExec', 'Run a command with a vault that is there for its time'],
  }),
  ...commandsOf(() => import('./serve/wait.ts'), {
    wait: ['defineWait', 'Wait until the daemon is ready'],
  }),
  ...commandsOf(() => import('./dev/env.ts'), {
    env: ['defineEnv', 'Print the lines that set a shell up for a daemon'],
  }),
  ...commandsOf(() => import('../completion/completion.ts'), {
    completion: ['defineCompletion', 'Print the completion script of a shell'],
  }),
  ...commandsOf(() => import('./openapi.ts'), {
    openapi: ['defineOpenApi', 'Print the OpenAPI document of the API'],
  }),
  ...commandsOf(() => import('./tenants/tenants.ts'), {
    'tenant create': ['defineTenantCreate', 'Make another tenant in the file, with its first management application'],
    'tenant list': ['defineTenantList', 'List the tenants of the file'],
    'tenant issue-key': ['defineTenantIssueKey', 'Make a fresh management application: the way back after a lost key'],
  }),
  ...commandsOf(() => import('./keys/keys.ts'), {
    'keys list': ['defineKeysList', 'List the key files and passphrases that open the file'],
    'keys add': ['defineKeysAdd', 'Let another key file or passphrase open the file'],
    'keys remove': ['defineKeysRemove', 'Remove a key file or a passphrase: it no longer opens the file'],
    'keys status': ['defineKeysStatus', 'Show the keys of each tenant, and whether a rotation is unfinished'],
    'keys rotate': ['defineKeysRotate', 'Seal every record anew under new keys, and destroy the old ones'],
  }),
  ...commandsOf(() => import('./audit/audit.ts'), {
    'audit list': ['defineAuditList', 'List the last entries of the audit, newest first'],
    'audit verify': ['defineAuditVerify', 'Check that no entry of the audit was altered, moved or taken out'],
    'audit export': ['defineAuditExport', 'Write out the whole audit, a line of JSON an entry, oldest first'],
  }),
  ...commandsOf(() => import('./file/backup.ts'), {
    backup: ['defineBackup', 'Copy the file while others use it, and check the copy'],
    restore: ['defineRestore', 'Make a vault of a backup, checked first'],
  }),
  ...commandsOf(() => import('./snapshots/snapshot.ts'), {
    'snapshot save': ['defineSnapshotSave', 'Keep the state of the file under a name, while others use it'],
    'snapshot list': ['defineSnapshotList', 'List the snapshots of the file'],
    'snapshot load': ['defineSnapshotLoad', 'Go back to a snapshot in one step, while others use the file'],
    'snapshot delete': ['defineSnapshotDelete', 'Delete a snapshot'],
    reset: ['defineReset', 'Remove all tokens; applications and their API keys stay'],
  }),
  ...commandsOf(() => import('./transfer/export.ts'), {
    export: ['defineExport', 'Write the tokens to a file, sealed by default'],
  }),
  ...commandsOf(() => import('./transfer/import.ts'), {
    import: ['defineImport', 'Make tokens of the rows of a file, NDJSON or CSV'],
  }),
  ...commandsOf(() => import('./keys/keygen.ts'), {
    keygen: ['defineKeygen', 'Make a key pair to seal exports for'],
  }),
  ...commandsOf(() => import('./file/doctor.ts'), {
    doctor: ['defineDoctor', 'Open and check everything in the file, and name what is wrong'],
  }),
  ...commandsOf(() => import('./dev/clock.ts'), {
    'clock set': ['defineClockSet', 'Let the clock of a --dev daemon go on from a time'],
    'clock advance': [
      'defineClockAdvance',
      'Put the clock of a --dev daemon forward; what has expired then is removed',
    ],
    'clock reset': ['defineClockReset', 'Put the clock of a --dev daemon back to that of its machine'],
  }),
  ...commandsOf(() => import('./dev/faults.ts'), {
    'faults set': ['defineFaultsSet', 'Let the next requests to a --dev daemon fail, wait or be dropped'],
    'faults list': ['defineFaultsList', 'List the faults that are still to happen'],
    'faults clear': ['defineFaultsClear', 'Forget the faults that are still to happen'],
  }),
  ...commandsOf(() => import('./seed/seed.ts'), {
    'seed apply': [
      'defineSeedApply',
      'Make the tenant, the applications and the tokens that files name; a second time changes nothing',
      'target',
    ],
    'seed schema': ['defineSeedSchema', 'Print the JSON Schema of a seed file'],
  }),
  ...commandsOf(() => import('./profile/profile.ts'), {
    'profile add': ['defineProfileAdd', 'Keep what reaches a vault under a name'],
    'profile use': ['defineProfileUse', 'Make a profile the one for commands that name no vault'],
    'profile list': ['defineProfileList', 'List the profiles'],
    'profile remove': ['defineProfileRemove', 'Remove a profile'],
  }),
];

function commandsOf<const Name extends string>(
  load: () => Promise<Readonly<Record<NoInfer<Name>, Define>>>,
  rows: Readonly<Record<string, Row<Name>>>,
): readonly LocalCommand[] {
  return Object.entries(rows).map(([words, [define, summary, target]]) => {
    const [first = '', second] = words.split(' ');
    return {
      command: second === undefined ? [first] : [first, second],
      summary,
      usesTarget: target !== undefined,
      load: async () => (await load())[define],
    };
  });
}

/** Complete command lines for the help of commands without an endpoint; some have their own beside their text. */
const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  init: [
    'vault init --file vault.db --key-out management.key',
    'vault init --file vault.db --key-file /media/usb/vault.key --tenant Shop',
    'vault init --file vault.db --passphrase-file -',
  ],
  serve: [
    'vault serve --dev',
    'vault serve --dev --port 0 --ready-file ready.json \\\n    --seed-file seed.yaml --seed 7',
    'vault serve --file vault.db --socket ./vault.sock',
    'vault serve --file vault.db --host 0.0.0.0 \\\n    --tls-cert cert.pem --tls-key key.pem',
  ],
  wait: ['vault wait --ready-file ready.json', 'vault wait --url http://127.0.0.1:8484 --timeout 2m'],
  openapi: ['vault openapi > openapi.json', 'vault openapi --server-url http://127.0.0.1:8484'],
  'tenant create': ['vault tenant create --name Shop --key-out shop.key'],
  'tenant list': ['vault tenant list', 'vault tenant list -q'],
  'tenant issue-key': ['vault tenant issue-key --tenant ID --key-out management.key'],
  'keys list': ['vault keys list'],
  'keys add': [
    'vault keys add --new-key-file spare.key',
    'vault keys add --passphrase-file old.txt --new-passphrase-file new.txt',
  ],
  'keys remove': ['vault keys remove --slot 1'],
  'keys status': ['vault keys status'],
  'keys rotate': ['vault keys rotate --yes', 'vault keys rotate --tenant ID --indexes', 'vault keys rotate --master'],
  keygen: ['vault keygen --out secret', 'recipient=$(vault keygen --out secret --field recipient)'],
  backup: ['vault backup monday.db'],
  restore: ['vault restore monday.db --file vault.db --key-file vault.db.key'],
  doctor: ['vault doctor', 'vault doctor --file vault.db --field ok'],
  'audit list': [
    'vault audit list --entity ID',
    'vault audit list --denied --since 24h',
    'vault audit list --action deleteToken --limit 10 -o csv',
  ],
  'audit verify': ['vault audit verify --field ok'],
  'audit export': ['vault audit export --out audit.ndjson'],
  'snapshot save': ['vault snapshot save seeded', 'vault snapshot save seeded --replace'],
  'snapshot list': ['vault snapshot list'],
  'snapshot load': ['vault snapshot load seeded --yes'],
  'snapshot delete': ['vault snapshot delete seeded'],
  reset: ['vault reset --yes', 'vault reset --tenant ID'],
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

/** The headings of flags that many commands have, as operations have them. */
const GROUPS = [
  ['Vault:', VAULT_FLAGS],
  ['Output:', { ...FLAGS.output, ...FLAGS.keyOut }],
] as const satisfies readonly (readonly [string, Readonly<Record<string, FlagRow>>])[];

const HEADINGS = new Map(
  GROUPS.flatMap(([heading, rows]) => Object.values(rows).map(({ flag }) => [flag, heading] as const)),
);

/** Sorts the flags of a command without an endpoint under headings, and adds its examples. */
export function completeLocalHelp(command: Command, words: readonly string[]): void {
  const own = command.options.filter(({ flags }) => !HEADINGS.has(flags));
  // A command of which these are all the flags needs no headings.
  if (own.length > 0) {
    for (const option of command.options) {
      const heading = HEADINGS.get(option.flags);
      if (heading !== undefined) option.helpGroup(heading);
    }
  }
  const examples = EXAMPLES[words.join(' ')];
  if (examples !== undefined) {
    command.addHelpText('after', `\nExamples:\n${examples.map((line) => `  ${line}`).join('\n')}`);
  }
}
