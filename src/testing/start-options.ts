import type { JsonObject } from '../contract/json.ts';
import { HEADER_PREFIX } from '../contract/patterns.ts';
import { nearestName } from '../core/nearest-name.ts';

export interface StartOptions {
  /** `in-process`: a daemon in this process. `child`: `vault serve --dev`, in a process that ends with this one. */
  readonly mode?: 'in-process' | 'child' | undefined;
  /** What the header names begin with; `SVC`. */
  readonly headerPrefix?: string | undefined;
  /** What these files say is there when it starts, as after `vault seed apply`, and again after a reset. */
  readonly seedFile?: string | readonly string[] | undefined;
  /** A whole number from 0: tenant, keys, ids of applications and generated data follow from it, and are the same in every run. */
  readonly seed?: number | undefined;
}

/** The options, whole. */
export interface CheckedOptions {
  readonly mode: 'in-process' | 'child';
  readonly headerPrefix: string;
  readonly seedFiles: readonly string[];
  readonly seed: string | undefined;
}

/** A daemon that accepts requests, wherever it runs. */
export interface StartedDaemon {
  readonly url: string;
  readonly keys: { readonly tenant_id: string; readonly management_key: string; readonly private_key: string };
  /** What `vault seed apply --out json` prints; undefined without a seed file. */
  readonly ids: JsonObject | undefined;
  /** Ends it and removes all that it made. Further calls wait for the first. */
  stop(): Promise<void>;
}

/** Returns the environment of this process without settings of another vault. */
export function ownEnvironment(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('VAULT_')));
}

type Check = (value: unknown) => boolean;

const isPath: Check = (value) => typeof value === 'string' && value !== '';

/** What each option is, and how that is said. */
const OPTIONS = {
  mode: { is: (value) => value === 'in-process' || value === 'child', said: "'in-process' or 'child'" },
  headerPrefix: {
    is: (value) => typeof value === 'string' && new RegExp(HEADER_PREFIX).test(value),
    said: 'letters, digits and dashes, beginning with a letter',
  },
  seedFile: {
    is: (value) => isPath(value) || (Array.isArray(value) && value.length > 0 && value.every(isPath)),
    said: 'a path, or a list of paths',
  },
  seed: {
    is: (value) => Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) < 1e15,
    said: 'a whole number from 0',
  },
} as const satisfies Record<keyof StartOptions, { readonly is: Check; readonly said: string }>;

/** Throws a `TypeError` for an option that there is not, or that is not what it must be: tests are written in JavaScript, too. */
export function checkOptions(options: StartOptions): CheckedOptions {
  if (typeof options !== 'object' || options === null) throw new TypeError('startVault takes an object of options');
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(OPTIONS, name)) {
      const near = nearestName(name, Object.keys(OPTIONS));
      const known = near === undefined ? `it takes ${Object.keys(OPTIONS).join(', ')}` : `did you mean ${near}?`;
      throw new TypeError(`startVault has no option ${name}; ${known}`);
    }
    const { is, said } = OPTIONS[name as keyof StartOptions];
    if (value !== undefined && !is(value)) throw new TypeError(`startVault: ${name} is ${said}`);
  }
  const { mode = 'in-process', headerPrefix = 'SVC', seedFile = [], seed } = options;
  const seedFiles = typeof seedFile === 'string' ? [seedFile] : seedFile;
  return { mode, headerPrefix, seedFiles, seed: seed === undefined ? undefined : String(seed) };
}
