import { parseText } from '../../client/decode-problem.ts';
import type { Environment } from '../flags/global-flags.ts';

/** The members of a profile, each with the environment variable that it sets. */
export const PROFILE_VARIABLES = {
  url: 'VAULT_URL',
  header_prefix: 'VAULT_HEADER_PREFIX',
  ca_file: 'VAULT_CA_FILE',
  file: 'VAULT_FILE',
  /** The URL of a database. It holds no password. */
  store: 'VAULT_STORE',
  key_file: 'VAULT_KEY_FILE',
  /** A command line whose program is an absolute path or a name in PATH. */
  key_command: 'VAULT_KEY_COMMAND',
  passphrase_file: 'VAULT_PASSPHRASE_FILE',
  api_key_file: 'VAULT_API_KEY_FILE',
  /** The API key itself, so the profile's file must be readable only by its owner. */
  api_key: 'VAULT_API_KEY',
  output: 'VAULT_OUTPUT',
} as const;

/** A vault and its credentials. It has exactly one of `url`, `file` and `store`. */
export type Profile = { readonly [Member in keyof typeof PROFILE_VARIABLES]?: string };

/** Matches profile names. They are also file names, and some systems ignore case or reserve names for devices. */
const NAME = /^(?!(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$))[a-z0-9][a-z0-9._-]{0,63}$/;

export function isProfileName(name: string): boolean {
  return NAME.test(name);
}

/** Parses a profile; returns undefined for other text. */
export function parseProfile(text: string): Profile | undefined {
  const value = parseText(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const profile: Profile = value;
  const isKnown = ([name, member]: readonly [string, unknown]) =>
    Object.hasOwn(PROFILE_VARIABLES, name) && typeof member === 'string';
  if (!Object.entries(profile).every(isKnown)) return undefined;
  const named = [profile.url, profile.file, profile.store].filter((name) => name !== undefined);
  return named.length === 1 ? profile : undefined;
}

/** Returns the variables that a profile sets, in a fixed order. */
export function variablesOf(profile: Profile): Environment {
  const rows = Object.entries(PROFILE_VARIABLES) as [keyof Profile, string][];
  return Object.fromEntries(
    rows.flatMap(([member, name]) => (profile[member] === undefined ? [] : [[name, profile[member]]])),
  );
}
