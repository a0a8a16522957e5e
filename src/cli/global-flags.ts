import type { Command } from 'commander';
import { Fault } from '../core/fault.ts';

export interface FlagRow {
  /** As commander reads it. */
  readonly flag: string;
  /** Stands in for the flag where it is not given. */
  readonly env: string;
  readonly help: string;
}

/** The flags that open a vault's file. */
export const FILE_FLAGS = {
  file: { flag: '--file <path>', env: 'VAULT_FILE', help: 'the encrypted file (default: ./vault.db)' },
  keyFile: {
    flag: '--key-file <path>',
    env: 'VAULT_KEY_FILE',
    help: 'the key that opens the file (default: FILE.key)',
  },
  passphraseFile: {
    flag: '--passphrase-file <path>',
    env: 'VAULT_PASSPHRASE_FILE',
    help: 'the passphrase that opens the file; - for standard input',
  },
} as const satisfies Record<string, FlagRow>;

/** The flag that guards a file against being put back. */
export const ANCHOR_FLAGS = {
  anchor: {
    flag: '--anchor <path>',
    env: 'VAULT_ANCHOR',
    help: 'a file away from the vault that says how far it had come; an older copy of the vault is refused',
  },
} as const satisfies Record<string, FlagRow>;

/** The flags that reach a daemon. */
export const DAEMON_FLAGS = {
  url: { flag: '--url <url>', env: 'VAULT_URL', help: 'a daemon: http://, https:// or unix:/path.sock' },
  headerPrefix: {
    flag: '--header-prefix <prefix>',
    env: 'VAULT_HEADER_PREFIX',
    help: 'of the header names (default: SVC)',
  },
} as const satisfies Record<string, FlagRow>;

/** A vault and its credentials under a name; `vault profile` keeps them. */
export const PROFILE_FLAGS = {
  profile: { flag: '--profile <name>', env: 'VAULT_PROFILE', help: 'what `vault profile add` keeps under this name' },
} as const satisfies Record<string, FlagRow>;

/** Who asks. The key itself is never a flag: a command line is seen by everybody on the machine. */
export const KEY_FLAGS = {
  apiKeyFile: {
    flag: '--api-key-file <path>',
    env: 'VAULT_API_KEY_FILE',
    help: 'a file with the API key, which may also stand in VAULT_API_KEY',
  },
} as const satisfies Record<string, FlagRow>;

/** How a result is shown. */
export const OUTPUT_FLAGS = {
  output: {
    flag: '-o, --output <format>',
    env: 'VAULT_OUTPUT',
    help: 'table, json, yaml, csv or ndjson (default: table on a terminal, else json)',
  },
  field: { flag: '--field <path>', env: 'VAULT_FIELD', help: 'one member, raw: id, data.number, data[0].id' },
  quiet: { flag: '-q, --quiet', env: 'VAULT_QUIET', help: 'ids only' },
  color: { flag: '--no-color', env: 'NO_COLOR', help: 'no colours' },
} as const satisfies Record<string, FlagRow>;

/** What is done with the request of an operation. */
export const REQUEST_FLAGS = {
  dryRun: {
    flag: '--dry-run',
    env: 'VAULT_DRY_RUN',
    help: 'check the request without a vault and show it, instead of sending it',
  },
  curl: { flag: '--curl', env: 'VAULT_CURL', help: 'print the request as a curl command, instead of sending it' },
} as const satisfies Record<string, FlagRow>;

/** Of lists. */
export const LIST_FLAGS = {
  all: { flag: '--all', env: 'VAULT_ALL', help: 'all pages, printed as they come; --field is then a path of an item' },
} as const satisfies Record<string, FlagRow>;

/** Of operations whose result has an API key. */
export const KEY_OUT_FLAGS = {
  keyOut: {
    flag: '--key-out <path>',
    env: 'VAULT_KEY_OUT',
    help: 'write the API key to this new file (0600) instead of showing it',
  },
} as const satisfies Record<string, FlagRow>;

/** Answers to questions. */
const CONFIRM_FLAGS = {
  yes: { flag: '-y, --yes', env: 'VAULT_YES', help: 'do it without asking' },
} as const satisfies Record<string, FlagRow>;

/** The groups above, by what they are for. */
export const FLAGS = {
  file: FILE_FLAGS,
  anchor: ANCHOR_FLAGS,
  daemon: DAEMON_FLAGS,
  profile: PROFILE_FLAGS,
  key: KEY_FLAGS,
  output: OUTPUT_FLAGS,
  request: REQUEST_FLAGS,
  list: LIST_FLAGS,
  keyOut: KEY_OUT_FLAGS,
  confirm: CONFIRM_FLAGS,
} as const;

/** The flags of every operation, by their attribute; all but these are derived from the row. */
export const GLOBAL_FLAGS = {
  ...DAEMON_FLAGS,
  ...FILE_FLAGS,
  ...ANCHOR_FLAGS,
  ...PROFILE_FLAGS,
  ...KEY_FLAGS,
  ...OUTPUT_FLAGS,
  ...CONFIRM_FLAGS,
} as const satisfies Record<string, FlagRow>;

/** What was typed. A flag that was not given is absent: what the environment says is looked up where it is used. */
export interface GlobalFlags {
  readonly url?: string;
  readonly headerPrefix?: string;
  readonly file?: string;
  readonly keyFile?: string;
  readonly passphraseFile?: string;
  readonly anchor?: string;
  readonly profile?: string;
  readonly apiKeyFile?: string;
  readonly output?: string;
  readonly field?: string;
  readonly quiet?: boolean;
  /** False when `--no-color` was given. */
  readonly color?: boolean;
  readonly yes?: boolean;
}

export type Environment = Readonly<Record<string, string | undefined>>;

export interface KeyOutFlags {
  readonly keyOut?: string;
}

/** The flags that only operations have, beside those of their members. */
export interface OperationFlags extends KeyOutFlags {
  readonly dryRun?: boolean;
  readonly curl?: boolean;
  readonly all?: boolean;
}

/** Adds flags of the tables above, and names their environment variables in the help. */
export function addFlags(command: Command, rows: Readonly<Record<string, FlagRow>>): void {
  for (const row of Object.values(rows)) command.option(row.flag, `${row.help} [env: ${row.env}]`);
  // What asks questions on a terminal looks at the environment alone.
  if (Object.hasOwn(rows, 'color')) command.on('option:no-color', () => Object.assign(process.env, { NO_COLOR: '1' }));
}

/** What was typed before the noun and behind the verb; the later word wins. */
export function typedFlags<T extends object = GlobalFlags>(command: Command): T & GlobalFlags {
  let root: Command = command;
  while (root.parent !== null) root = root.parent;
  const before = root.opts<GlobalFlags>();
  const behind = command.opts<T & GlobalFlags>();
  return { ...before, ...behind, color: before.color !== false && behind.color !== false };
}

/** What a variable may say for a switch, in any case. */
const SWITCH_WORDS: ReadonlyMap<string, boolean> = new Map([
  ...['1', 'true', 'yes', 'on'].map((word) => [word, true] as const),
  ...['', '0', 'false', 'no', 'off'].map((word) => [word, false] as const),
]);

/** A switch that the environment may turn on. Another word is refused: what was meant as a no would be taken for a yes. */
export function isSwitchedOn(typed: boolean | undefined, env: Environment, row: FlagRow): boolean {
  return typed ?? switchValue(row, env[row.env] ?? '');
}

/** Throws the fault `usage` unless the word is one of a switch. */
export function switchValue(row: FlagRow, word: string): boolean {
  const isOn = SWITCH_WORDS.get(word.trim().toLowerCase());
  if (isOn !== undefined) return isOn;
  throw new Fault('usage', `${row.env} is 1, true, yes or on; or 0, false, no or off`);
}

/** The value that was typed, else that of the environment; an empty variable is one that is not set. */
export function flagValue(typed: string | undefined, env: Environment, row: FlagRow): string | undefined {
  return typed ?? (env[row.env] || undefined);
}
