import { Fault } from '../../core/fault.ts';
import { typedValue, useErrorForm } from '../exit/error-form.ts';
import { type Environment, FLAGS, type Line, readFlags } from '../flags/global-flags.ts';
import { type Profile, variablesOf } from './profile.ts';

/** The variables that name a vault. */
export const VAULT_VARIABLES: readonly string[] = ['VAULT_URL', 'VAULT_FILE', 'VAULT_STORE'];

/**
 * Resolves to the line, with the profile's values for unset variables, and to the name of the profile, if one applies.
 * Flags still override both. A named profile (`--profile`, `VAULT_PROFILE`) always applies. The default profile (`vault
 * profile use`) applies only if no flag or variable names a vault, because its API key must not go to another vault. An
 * empty name means no profile.
 */
export async function withProfile<Typed extends Line>(line: Typed): Promise<Typed & { readonly profile?: string }> {
  const asked = readFlags(FLAGS.profile, line).profile;
  if (asked === '' || (asked === undefined && isVaultNamed(line))) return line;
  const { openProfileStore } = await import('./profile-store.ts');
  const store = await openProfileStore(line.env);
  const name = asked ?? (await store.defaultName());
  if (name === undefined) return line;
  // Report a missing profile with exit code 2: a script would take exit code 3 for a missing record.
  const profile = await store.read(name).catch((error: unknown) => {
    if (!(error instanceof Fault) || error.code !== 'not_found') throw error;
    throw new Fault('usage', error.message, { hint: error.hint, cause: error });
  });
  const env = fillFromProfile(profile, line);
  useErrorForm(env);
  return { ...line, env, profile: name };
}

/**
 * Returns the environment with the profile's values for unset variables. If flags or variables already name a vault, it
 * adds only the output format and the API key, because the other values belong to the profile's own vault.
 */
export function fillFromProfile(profile: Profile, line: Line): Environment {
  const ofVault = [
    VAULT_VARIABLES,
    ['VAULT_HEADER_PREFIX'],
    ['VAULT_CA_FILE'],
    Object.values(FLAGS.credential).map((row) => row.env),
  ];
  const groups = [...(isVaultNamed(line) ? [] : ofVault), ['VAULT_OUTPUT'], ['VAULT_API_KEY', 'VAULT_API_KEY_FILE']];
  const free = groups.filter((names) => !names.some((name) => line.env[name])).flat();
  const given = Object.entries(variablesOf(profile)).filter(([name]) => free.includes(name));
  return { ...line.env, ...Object.fromEntries(given) };
}

/** Returns whether a flag or a variable names a vault. */
export function isVaultNamed({ flags: { url, file, store }, env }: Line): boolean {
  return Boolean(url ?? file ?? store) || VAULT_VARIABLES.some((name) => env[name]);
}

/** Makes errors use the form that the profile of a command line asks for. Ignores a profile that cannot be read. */
export async function useProfileErrorForm(words: readonly string[], env: Environment): Promise<void> {
  const names = ['profile', 'url', 'file', 'store'] as const;
  const flags = Object.fromEntries(
    names.flatMap((name) => {
      const value = typedValue(words, `--${name}`);
      return value === undefined ? [] : [[name, value]];
    }),
  );
  await withProfile({ flags, env }).catch(() => undefined);
}
