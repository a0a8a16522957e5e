import type { Command } from 'commander';
import {
  ANCHOR_FLAGS,
  DAEMON_FLAGS,
  FILE_FLAGS,
  type FlagRow,
  KEY_FLAGS,
  KEY_OUT_FLAGS,
  OUTPUT_FLAGS,
  PROFILE_FLAGS,
} from './global-flags.ts';

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
  ['Vault:', { ...DAEMON_FLAGS, ...FILE_FLAGS, ...ANCHOR_FLAGS, ...PROFILE_FLAGS, ...KEY_FLAGS }],
  ['Output:', { ...OUTPUT_FLAGS, ...KEY_OUT_FLAGS }],
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
