import type { Command, Option } from 'commander';
import { Fault } from '../core/fault.ts';
import type { FlagsOf } from './flags-of.ts';

export interface FlagRow {
  /** The flag in commander's syntax. */
  readonly flag: string;
  /** The environment variable that replaces a missing flag. */
  readonly env: string;
  readonly help: string;
}

export type FlagRows = Readonly<Record<string, FlagRow>>;

/** The options of every command that reads a file with a secret. */
const PERMISSIONS = {
  allowInsecurePermissions: {
    flag: '--allow-insecure-permissions',
    env: 'VAULT_ALLOW_INSECURE_PERMISSIONS',
    help: 'read secrets from files that others can read, on file systems without modes',
  },
} as const;

/** What opens a vault's file: at most one of these. */
const CREDENTIAL = {
  keyFile: {
    flag: '--key-file <path>',
    env: 'VAULT_KEY_FILE',
    help: 'the key that opens the file (default: FILE.key)',
  },
  keyCommand: {
    flag: '--key-command <command>',
    env: 'VAULT_KEY_COMMAND',
    help: 'a program that prints the key, with arguments; no shell',
  },
  passphraseFile: {
    flag: '--passphrase-file <path>',
    env: 'VAULT_PASSPHRASE_FILE',
    help: 'the passphrase that opens the file; - for standard input',
  },
} as const;

/** The flags that several commands share, by purpose. The keys are commander's attribute names. */
export const FLAGS = {
  permissions: PERMISSIONS,
  /** Flags that open a vault's file. */
  file: {
    file: { flag: '--file <path>', env: 'VAULT_FILE', help: 'the encrypted file (default: ./vault.db)' },
    ...CREDENTIAL,
    ...PERMISSIONS,
  },
  credential: CREDENTIAL,
  /** Detects an older copy of the file. */
  anchor: {
    anchor: {
      flag: '--anchor <path>',
      env: 'VAULT_ANCHOR',
      help: 'a file outside the vault that detects an older copy of it',
    },
  },
  /** Flags that reach a daemon. */
  daemon: {
    url: { flag: '--url <url>', env: 'VAULT_URL', help: 'a daemon: http://, https:// or unix:/path.sock' },
    headerPrefix: {
      flag: '--header-prefix <prefix>',
      env: 'VAULT_HEADER_PREFIX',
      help: 'the prefix of the header names (default: SVC)',
    },
  },
  /** A vault and its credentials under a name; `vault profile` stores them. */
  profile: {
    profile: { flag: '--profile <name>', env: 'VAULT_PROFILE', help: 'a profile that `vault profile add` saved' },
    ...PERMISSIONS,
  },
  /** The calling application. The key itself is never a flag: every user of the machine can read command lines. */
  key: {
    apiKeyFile: {
      flag: '--api-key-file <path>',
      env: 'VAULT_API_KEY_FILE',
      help: 'a file with the API key; VAULT_API_KEY holds the key itself',
    },
  },
  /** Flags for the form of a result. `color` is false with `--no-color`. */
  output: {
    output: {
      flag: '-o, --output <format>',
      env: 'VAULT_OUTPUT',
      help: 'table, json, yaml, csv or ndjson (default: table on a terminal, else json)',
    },
    field: { flag: '--field <path>', env: 'VAULT_FIELD', help: 'one member, raw: id, data.number, data[0].id' },
    quiet: { flag: '-q, --quiet', env: 'VAULT_QUIET', help: 'print ids only' },
    color: { flag: '--no-color', env: 'NO_COLOR', help: 'print without colours' },
  },
  request: {
    dryRun: {
      flag: '--dry-run',
      env: 'VAULT_DRY_RUN',
      help: 'check and print the request; send nothing',
    },
    curl: { flag: '--curl', env: 'VAULT_CURL', help: 'print the request as a curl command; send nothing' },
  },
  list: {
    all: {
      flag: '--all',
      env: 'VAULT_ALL',
      help: 'all pages; --field selects from each item',
    },
  },
  /** For lists that can wait for new items. */
  follow: {
    follow: {
      flag: '--follow',
      env: 'VAULT_FOLLOW',
      help: 'print new entries until stopped; NDJSON unless on a terminal',
    },
  },
  /** For operations whose result has an API key. */
  keyOut: {
    keyOut: {
      flag: '--key-out <path>',
      env: 'VAULT_KEY_OUT',
      help: 'a new file (0600) for the API key, which is then not printed',
    },
  },
  /** Answers to questions. */
  confirm: { yes: { flag: '-y, --yes', env: 'VAULT_YES', help: 'skip the confirmation' } },
} as const satisfies Record<string, FlagRows>;

/** The flags that choose a vault, on a daemon or in a file, and the calling application. */
export const VAULT_FLAGS = { ...FLAGS.daemon, ...FLAGS.file, ...FLAGS.anchor, ...FLAGS.profile, ...FLAGS.key } as const;

/** The flags of every operation, by attribute; the others are derived from the row. */
export const GLOBAL_FLAGS = { ...VAULT_FLAGS, ...FLAGS.output, ...FLAGS.confirm } as const;

/** Excludes --yes: only a command that needs it has it, and its help shows it. */
const GLOBAL_ROWS: readonly FlagRow[] = Object.values({ ...VAULT_FLAGS, ...FLAGS.output });

/** Flag values, environment included. Unset switches are false. */
export type FlagValues<Rows extends FlagRows> = {
  readonly [Name in keyof Rows]: Rows[Name]['flag'] extends `${string}<${string}` ? string | undefined : boolean;
};

export type GlobalFlags = FlagsOf<typeof GLOBAL_FLAGS>;

export type KeyOutFlags = FlagsOf<typeof FLAGS.keyOut>;

/** The flags that only operations have, besides those of their members. */
export type OperationFlags = FlagsOf<
  typeof FLAGS.request & typeof FLAGS.list & typeof FLAGS.follow & typeof FLAGS.keyOut
>;

export type Environment = Readonly<Record<string, string | undefined>>;

/** Adds flags of the tables above, and names their environment variables in the help. */
export function addFlags(command: Command, rows: FlagRows): void {
  for (const row of Object.values(rows)) command.option(row.flag, describeFlag(row));
  // Prompts and readers of secrets use only the environment.
  if (Object.hasOwn(rows, 'color')) command.on('option:no-color', () => Object.assign(process.env, { NO_COLOR: '1' }));
  const { env } = PERMISSIONS.allowInsecurePermissions;
  command.on('option:allow-insecure-permissions', () => Object.assign(process.env, { [env]: '1' }));
}

function describeFlag({ help, env }: FlagRow): string {
  return `${help} [env: ${env}]`;
}

/** Returns whether `vault help options` describes the option. A command may give a global name a meaning of its own. */
export function isGlobal({ flags, description }: Option): boolean {
  return GLOBAL_ROWS.some((row) => row.flag === flags && describeFlag(row) === description);
}

/** Returns the flags typed before the noun and after the verb; the later one wins. */
export function typedFlags<T extends object = GlobalFlags>(command: Command): T & GlobalFlags {
  let root: Command = command;
  while (root.parent !== null) root = root.parent;
  const before = root.opts<GlobalFlags>();
  const behind = command.opts<T & GlobalFlags>();
  return { ...before, ...behind, color: before.color !== false && behind.color !== false };
}

/** The words for a switch in a variable, in any case. */
const SWITCH_WORDS: ReadonlyMap<string, boolean> = new Map([
  ...['1', 'true', 'yes', 'on'].map((word) => [word, true] as const),
  ...['', '0', 'false', 'no', 'off'].map((word) => [word, false] as const),
]);

/**
 * Returns whether a switch is on. The environment may turn it on. Rejects other words: a user who means no must not get
 * yes.
 */
export function isSwitchedOn(typed: boolean | undefined, env: Environment, row: FlagRow): boolean {
  return typed ?? switchValue(row, env[row.env] ?? '');
}

/** Throws the fault `usage` for a word that is not a switch value. */
export function switchValue(row: FlagRow, word: string): boolean {
  const isOn = SWITCH_WORDS.get(word.trim().toLowerCase());
  if (isOn !== undefined) return isOn;
  throw new Fault('usage', `${row.env} must be 1, true, yes or on, or 0, false, no or off`);
}

/** Returns the typed value, else that of the environment; an empty variable counts as unset. */
export function flagValue(typed: string | undefined, env: Environment, row: FlagRow): string | undefined {
  return typed ?? (env[row.env] || undefined);
}

/** Reads all flags of a table, each with `flagValue` or `isSwitchedOn`. */
export function readFlags<Rows extends FlagRows>(
  rows: Rows,
  typed: Readonly<Record<string, unknown>>,
  env: Environment,
): FlagValues<Rows> {
  const values = Object.entries(rows).map(([name, row]) => {
    const given = typed[name];
    if (!row.flag.includes('<')) return [name, isSwitchedOn(typeof given === 'boolean' ? given : undefined, env, row)];
    return [name, flagValue(typeof given === 'string' ? given : undefined, env, row)];
  });
  return Object.fromEntries(values);
}
