import type { Command, Option } from 'commander';
import { Fault } from '../../core/fault.ts';

export interface FlagRow {
  /** The flag in commander's syntax. */
  readonly flag: string;
  /** The environment variable that replaces a missing flag. Empty: none. */
  readonly env: string;
  readonly help: string;
  /** Whether the flag may occur several times, each time with one value. */
  readonly repeatable?: boolean;
}

export type FlagRows = Readonly<Record<string, FlagRow>>;

/** Returns the row of a flag. Its environment variable is `VAULT_` with the flag's name, unless `env` is another. */
export function flag<const Flag extends string>(flag: Flag, help: string, env?: string) {
  const name = flag.replace(/^.*--| .*$/g, '');
  return { flag, env: env ?? `VAULT_${name.toUpperCase().replaceAll('-', '_')}`, help };
}

/** Returns the row of a flag without a variable: it changes one call, so a forgotten variable must not set it. */
export function oneShot<const Flag extends string>(flag: Flag, help: string) {
  return { flag, env: '', help };
}

const PERMISSIONS = {
  allowInsecurePermissions: flag(
    '--allow-insecure-permissions',
    'read secrets from files that others can read, on file systems without modes',
  ),
};

const FILE_SYSTEM = {
  allowNetworkFilesystem: flag(
    '--allow-network-filesystem',
    'allow a file on NFS or SMB, if its locks hold between all machines',
  ),
};

const STORE = {
  store: flag('--store <url>', 'a PostgreSQL database: postgres://user@host/database'),
  insecureStore: flag('--insecure-store', 'allow a database without TLS on another machine, or without fsync'),
};

/** The flags that name the credential of a vault. A command accepts at most one of them. */
const CREDENTIAL = {
  keyFile: flag('--key-file <path>', 'the key that opens the vault (default with --file: FILE.key)'),
  keyCommand: flag('--key-command <command>', 'a program that prints the key, with arguments; no shell'),
  passphraseFile: flag('--passphrase-file <path>', 'a file with the passphrase of the vault; - for standard input'),
};

/** The flags that several commands share, by purpose. The keys are commander's attribute names. */
export const FLAGS = {
  permissions: PERMISSIONS,
  fileSystem: FILE_SYSTEM,
  store: STORE,
  file: {
    file: flag('--file <path>', 'the encrypted file (default: ./vault.db)'),
    ...STORE,
    ...CREDENTIAL,
    ...PERMISSIONS,
  },
  credential: CREDENTIAL,
  anchor: { anchor: flag('--anchor <path>', 'a file outside the vault that shows whether the vault is an older copy') },
  daemon: {
    url: flag('--url <url>', 'a daemon: http://, https:// or unix:/path.sock'),
    headerPrefix: flag('--header-prefix <prefix>', 'the prefix of the header names (default: SVC)'),
    caFile: flag('--ca-file <path>', 'the certificates to trust for https://, PEM, instead of those of Node.js'),
  },
  /** The flags that select a profile: a vault and its credentials, saved under a name. */
  profile: { profile: flag('--profile <name>', 'a profile that `vault profile add` saved'), ...PERMISSIONS },
  /** The flag for the API key. The key itself is never a flag: every user of the machine can read command lines. */
  key: { apiKeyFile: flag('--api-key-file <path>', 'a file with the API key; VAULT_API_KEY contains the key itself') },
  /** Flags that format a result. `color` is false with `--no-color`. */
  output: {
    output: flag('-o, --output <format>', 'table, json, csv or ndjson (default: table on a terminal, else json)'),
    field: flag('--field <member>', 'print one member without quotes: id, data.number, data[0].id'),
    columns: oneShot('--columns <members>', 'the columns of a table or CSV: id,type,metadata.customer'),
    quiet: flag('-q, --quiet', 'print ids only'),
    color: flag('--no-color', 'print without colours', 'NO_COLOR'),
  },
  request: {
    dryRun: oneShot('--dry-run', 'check and print the request; send nothing'),
    curl: oneShot('--curl', 'print the request as a curl command; send nothing'),
  },
  list: { all: oneShot('--all', 'print all pages; --field selects from each item') },
  follow: { follow: oneShot('--follow', 'print new entries until stopped; NDJSON unless on a terminal') },
  keyOut: { keyOut: flag('--key-out <path>', 'a new file (0600) for the API key, which is then not printed') },
  seed: { seed: flag('--seed <number>', 'a number for predictable ids, keys and test data; only for test vaults') },
  tenant: { tenant: flag('--tenant <name>', 'only this tenant, by name or id', 'VAULT_TENANT_ID') },
  archive: {
    archive: flag(
      '--archive <path...>',
      'an archive from `vault audit prune` to read, too; repeatable (comma-separated in VAULT_ARCHIVE)',
    ),
  },
  confirm: { yes: oneShot('-y, --yes', 'skip the confirmation') },
} as const satisfies Record<string, FlagRows>;

/** The flags that choose the calling application and a vault: on a daemon, in a file or in a database. */
export const VAULT_FLAGS = { ...FLAGS.daemon, ...FLAGS.file, ...FLAGS.anchor, ...FLAGS.profile, ...FLAGS.key };

/** The flags of every operation, by attribute. An operation's other flags are derived from its row. */
export const GLOBAL_FLAGS = { ...VAULT_FLAGS, ...FLAGS.output, ...FLAGS.confirm };

/** The flags that `vault help options` describes. Omits --yes: the help of each command with it describes it. */
const GLOBAL_ROWS: readonly FlagRow[] = Object.values({ ...VAULT_FLAGS, ...FLAGS.output });

/**
 * The typed flags of a table: a list for `<path...>`, a string for `<path>`, a boolean for a switch. Flags that were
 * not typed are absent; `readFlags` then reads their environment variables.
 */
export type FlagsOf<Rows extends FlagRows> = {
  readonly [Name in keyof Rows]?: FlagValue<Rows[Name]['flag']>;
};

type FlagValue<Flag extends string> = Flag extends `${string}...>`
  ? readonly string[]
  : Flag extends `${string}[${string}`
    ? string | boolean
    : Flag extends `${string}<${string}`
      ? string
      : boolean;

/** The values of flags from the command line or the environment. Unset switches are false; unset lists are empty. */
export type FlagValues<Rows extends FlagRows> = {
  readonly [Name in keyof Rows]: Rows[Name] extends { flag: `${string}...>` } | { repeatable: true }
    ? readonly string[]
    : Rows[Name]['flag'] extends `${string}${'<' | '['}${string}`
      ? string | undefined
      : boolean;
};

export type GlobalFlags = FlagsOf<typeof GLOBAL_FLAGS>;

export type Environment = Readonly<Record<string, string | undefined>>;

/** The flags of a command line as typed, and the environment, to which a profile adds its values. */
export interface Line<Flags extends object = object> {
  readonly flags: Flags & GlobalFlags;
  readonly env: Environment;
}

/** Adds flags of the tables above, and names their environment variables in the help. */
export function addFlags(command: Command, rows: FlagRows): void {
  for (const row of Object.values(rows)) {
    if (row.repeatable) command.option(row.flag, describeFlag(row), append);
    else command.option(row.flag, describeFlag(row));
  }
  // Set the variables, too: prompts and readers of secrets read only the environment.
  if (Object.hasOwn(rows, 'color')) command.on('option:no-color', () => Object.assign(process.env, { NO_COLOR: '1' }));
  const { env } = PERMISSIONS.allowInsecurePermissions;
  command.on('option:allow-insecure-permissions', () => Object.assign(process.env, { [env]: '1' }));
}

/** Reasons to reject a global flag that a command does not use. The other global flags are harmless everywhere. */
const POINTLESS: Readonly<Partial<Record<keyof typeof GLOBAL_FLAGS, string>>> = {
  url: 'uses no daemon',
  file: 'opens no file',
  store: 'opens no database',
  keyFile: 'opens no vault',
  keyCommand: 'opens no vault',
  passphraseFile: 'opens no vault',
  anchor: 'compares no vault with an anchor',
  output: 'prints no result in several formats',
  field: 'prints no result with members',
  columns: 'prints no table',
  quiet: 'prints no ids',
};

/**
 * Adds the global flags that a command does not use, hidden in its help: they work before and after every command. Those
 * that would mislead throw the fault `usage`. As the last step of the definition, it also refuses second values.
 */
export function acceptGlobalFlags(command: Command): void {
  for (const [name, row] of Object.entries(GLOBAL_FLAGS)) {
    const option = command.createOption(row.flag).hideHelp();
    const isTaken = command.options.some(
      ({ long, short }) => long === option.long || (short !== undefined && short === option.short),
    );
    if (isTaken) continue;
    command.addOption(option);
    const fact = POINTLESS[name as keyof typeof GLOBAL_FLAGS];
    if (fact === undefined) continue;
    command.on(`option:${option.name()}`, () => {
      const hint = hintInstead(name, command.options);
      throw new Fault('usage', `${option.long} does not apply: this command ${hint?.fact ?? fact}`, {
        hint: hint?.hint,
      });
    });
  }
  refuseSecondValues(command);
}

/**
 * Makes a second value of a flag the fault `usage`, instead of replacing the first, and `--log` with `--no-log`, too.
 * Repeatable flags collect their values, and a repeated switch changes nothing.
 */
function refuseSecondValues(command: Command): void {
  const typed = new Map<string, Option>();
  for (const option of command.options.filter(({ variadic, parseArg }) => !variadic && parseArg === undefined)) {
    command.on(`option:${option.name()}`, () => {
      const before = typed.get(option.attributeName());
      typed.set(option.attributeName(), option);
      if (before === undefined) return;
      if (before !== option) throw new Fault('usage', `only one of ${before.long} and ${option.long} can be given`);
      if (!(option.required || option.optional)) return;
      throw new Fault('usage', `${option.long} is given twice, but takes only one value`);
    });
  }
}

/** Returns the fact and the hint for a rejected global flag; undefined if no option of the command replaces it. */
function hintInstead(
  name: string,
  options: readonly Option[],
): { readonly fact?: string; readonly hint: string } | undefined {
  const has = (flag: string) => options.some(({ long, hidden }) => long === flag && !hidden);
  if (!['url', 'file', 'store'].includes(name)) return undefined;
  if (has('--from')) return { fact: 'names its vaults with --from and --to', hint: 'pass --from VAULT --to VAULT' };
  if (name === 'url') return has('--file') ? { hint: 'name a vault with --file (VAULT_FILE)' } : undefined;
  return has('--url') ? { hint: 'name a daemon with --url (VAULT_URL)' } : undefined;
}

/** Collects the values of a flag that may occur several times. */
export function append(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

function describeFlag({ help, env }: FlagRow): string {
  return env === '' ? help : `${help} [env: ${env}]`;
}

/** Returns whether an option is a global one, and not a command's own option with the same name. */
export function isGlobal({ flags, description }: Option): boolean {
  return GLOBAL_ROWS.some((row) => row.flag === flags && describeFlag(row) === description);
}

/** Returns the flags of a command. `arrangeWords` has moved those before its words behind them. */
export function typedLine<Flags extends object = object>(command: Command): Line<Flags> {
  return { flags: command.opts<Flags & GlobalFlags>(), env: process.env };
}

/** Returns the value of a flag. Throws the fault `usage` if it is not given. */
export function requireValue(value: string | undefined, { flag, env }: FlagRow): string {
  if (value !== undefined) return value;
  throw new Fault('usage', `${flag.split(' ')[0]} (${env}) must be given`);
}

/** The values of a switch in an environment variable, case-insensitive. */
const SWITCH_WORDS: ReadonlyMap<string, boolean> = new Map([
  ...['1', 'true', 'yes', 'on'].map((word) => [word, true] as const),
  ...['', '0', 'false', 'no', 'off'].map((word) => [word, false] as const),
]);

/** Returns what a word makes of a switch; undefined for a word that is neither on nor off. */
export function switchWord(word: string): boolean | undefined {
  return SWITCH_WORDS.get(word.trim().toLowerCase());
}

/**
 * Returns the values of the flags in a table, as typed, or else from their environment variables. An empty variable
 * counts as unset, and commas separate the values of a list. A flag with an optional value that is typed without it is
 * `true`. A switch throws the fault `usage` for a wrong word in its variable when its value is read.
 */
export function readFlags<Rows extends FlagRows>(rows: Rows, { flags, env }: Line): FlagValues<Rows> {
  const typed: Readonly<Record<string, unknown>> = flags;
  const read = (name: string, row: FlagRow) => {
    const word = env[row.env] ?? '';
    const given = typed[name];
    if (row.repeatable || row.flag.endsWith('...>')) return given ?? word.split(',').filter((each) => each !== '');
    if (/[<[]/.test(row.flag)) return given === undefined ? word || undefined : String(given);
    const isOn = given ?? switchWord(word);
    if (isOn !== undefined) return isOn;
    throw new Fault('usage', `${row.env} must be 1, true, yes or on, or 0, false, no or off`);
  };
  const values = {} as FlagValues<Rows>;
  for (const [name, row] of Object.entries(rows)) {
    Object.defineProperty(values, name, { enumerable: true, get: () => read(name, row) });
  }
  return values;
}
