import { checkOptions, isText, type OptionRow } from '../client/check-options.ts';
import type { DevKeys } from '../contract/dev-paths.ts';
import type { JsonObject } from '../contract/json.ts';
import { HEADER_PREFIX } from '../contract/schema.ts';

export interface StartOptions {
  /** `in-process`: a daemon in this process. `child`: `vault serve --dev`, in a process that ends with this one. */
  readonly mode?: 'in-process' | 'child' | undefined;
  /** The prefix of the header names. Default: `SVC`. */
  readonly headerPrefix?: string | undefined;
  /** Seed files to apply at the start, as `vault seed apply` does. A reset restores their records. */
  readonly seedFile?: string | readonly string[] | undefined;
  /**
   * A whole number from 0 that determines the tenant id, keys, application ids and generated data, so that they are the
   * same in every run.
   */
  readonly seed?: number | undefined;
  /** Whether the process runs until `stop`. By default it ends when it has no other work, and the vault with it. */
  readonly keepAlive?: boolean | undefined;
}

/** The checked options, with defaults for missing ones. */
export interface CheckedOptions {
  readonly mode: 'in-process' | 'child';
  readonly headerPrefix: string;
  readonly seedFiles: readonly string[];
  readonly seed: string | undefined;
  readonly keepAlive: boolean;
}

/** A running daemon, in this process or another. */
export interface StartedDaemon {
  readonly url: string;
  readonly keys: DevKeys;
  /** The output of `vault seed apply --out -`; undefined without a seed file. */
  readonly ids: JsonObject | undefined;
  /** Stops the daemon and removes its files. Further calls wait for the first. */
  stop(): Promise<void>;
}

/** Returns the environment of this process without settings of another vault. */
export function ownEnvironment(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('VAULT_')));
}

/** The check of each option, and the description of its valid values in messages. */
const OPTIONS = {
  mode: { is: (value) => value === 'in-process' || value === 'child', expected: "'in-process' or 'child'" },
  headerPrefix: {
    is: (value) => typeof value === 'string' && new RegExp(HEADER_PREFIX).test(value),
    expected: 'letters, digits and dashes, beginning with a letter',
  },
  seedFile: {
    is: (value) => isText(value) || (Array.isArray(value) && value.length > 0 && value.every(isText)),
    expected: 'a path, or a list of paths',
  },
  seed: {
    is: (value) => Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) < 1e15,
    expected: 'a whole number from 0',
  },
  keepAlive: { is: (value) => typeof value === 'boolean', expected: 'true or false' },
} as const satisfies Record<keyof StartOptions, OptionRow>;

/** Returns the options with defaults for missing ones. Throws a `TypeError` for wrong options. */
export function wholeOptions(options: StartOptions): CheckedOptions {
  checkOptions('startVault', OPTIONS, options);
  const { mode = 'in-process', headerPrefix = 'SVC', seedFile = [], seed, keepAlive = false } = options;
  const seedFiles = typeof seedFile === 'string' ? [seedFile] : seedFile;
  return { mode, headerPrefix, seedFiles, seed: seed === undefined ? undefined : String(seed), keepAlive };
}
