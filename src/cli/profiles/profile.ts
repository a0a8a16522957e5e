import type { Environment } from '../global-flags.ts';

/** A vault and its credentials. It has exactly one of `url`, `file` and `store`. */
export interface Profile {
  readonly url?: string;
  readonly header_prefix?: string;
  readonly cacert?: string;
  readonly file?: string;
  /** The URL of a database. It holds no password. */
  readonly store?: string;
  readonly key_file?: string;
  /** A command line whose program is an absolute path or a name in PATH. */
  readonly key_command?: string;
  readonly passphrase_file?: string;
  readonly api_key_file?: string;
  /** The API key itself, so the profile's file must be readable only by its owner. */
  readonly api_key?: string;
}

/** The environment variable that each member of a profile sets. */
export const PROFILE_VARIABLES = {
  url: 'VAULT_URL',
  header_prefix: 'VAULT_HEADER_PREFIX',
  cacert: 'VAULT_CACERT',
  file: 'VAULT_FILE',
  store: 'VAULT_STORE',
  key_file: 'VAULT_KEY_FILE',
  key_command: 'VAULT_KEY_COMMAND',
  passphrase_file: 'VAULT_PASSPHRASE_FILE',
  api_key_file: 'VAULT_API_KEY_FILE',
  api_key: 'VAULT_API_KEY',
} as const satisfies Record<keyof Profile, string>;

const MEMBERS = Object.keys(PROFILE_VARIABLES) as (keyof Profile)[];

/** Matches profile names. They are also file names, and some systems ignore case or reserve names for devices. */
const NAME = /^(?!(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$))[a-z0-9][a-z0-9._-]{0,63}$/;

export function isProfileName(name: string): boolean {
  return NAME.test(name);
}

/** Parses a profile; returns undefined for other text. */
export function parseProfile(text: string): Profile | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const members: Readonly<Record<string, unknown>> = { ...value };
  const isKnown = (name: string) => MEMBERS.some((member) => member === name) && typeof members[name] === 'string';
  if (!Object.keys(members).every(isKnown)) return undefined;
  const profile: Profile = { ...value };
  const named = [profile.url, profile.file, profile.store].filter((name) => name !== undefined);
  return named.length === 1 ? profile : undefined;
}

/** Returns the variables that a profile sets, in a fixed order. */
export function variablesOf(profile: Profile): Environment {
  const set = MEMBERS.filter((member) => profile[member] !== undefined);
  return Object.fromEntries(set.map((member) => [PROFILE_VARIABLES[member], profile[member]]));
}
