import { Fault } from '../../core/fault.ts';
import { typedValue, useErrorForm } from '../exit/error-form.ts';
import { type Environment, FLAGS, flagValue, type GlobalFlags } from '../flags/global-flags.ts';
import { type Profile, variablesOf } from './profile.ts';

/** The variables that name a vault. */
export const VAULT_VARIABLES = ['VAULT_URL', 'VAULT_FILE', 'VAULT_STORE'] as const;

/** The flags that name a vault. */
type Named = Pick<GlobalFlags, 'url' | 'file' | 'store'>;

/**
 * Resolves to the environment, with the profile's values for unset variables. Flags still override both. A named
 * profile (`--profile`, `VAULT_PROFILE`) always applies. The default profile (`vault profile use`) applies only if no
 * flag or variable names a vault, because its API key must not go to another vault. An empty name means no profile.
 */
export async function withProfile(flags: GlobalFlags, env: Environment): Promise<Environment> {
  return (await namedProfile(flags, env)).env;
}

/** Resolves to the environment as `withProfile` does, and to the name of the profile, if one applies. */
export async function namedProfile(
  flags: GlobalFlags,
  env: Environment,
): Promise<{ readonly env: Environment; readonly name?: string }> {
  const asked = flags.profile ?? flagValue(undefined, env, FLAGS.profile.profile);
  if (asked === '' || (asked === undefined && isVaultNamed(flags, env))) return { env };
  const { openProfileStore } = await import('./profile-store.ts');
  const store = await openProfileStore(env);
  const name = asked ?? (await store.defaultName());
  if (name === undefined) return { env };
  // Report a missing profile with exit code 2: a script would take exit code 3 for a missing record.
  const profile = await store.read(name).catch((error: unknown) => {
    if (!(error instanceof Fault) || error.code !== 'not_found') throw error;
    throw new Fault('usage', error.message, { hint: error.hint, cause: error });
  });
  const filled = fillFromProfile(profile, flags, env);
  useErrorForm(filled);
  return { env: filled, name };
}

/**
 * Returns the environment with the profile's values for unset variables. If flags or variables already name a vault, it
 * adds only the output format and the API key, because the other values belong to the profile's own vault.
 */
export function fillFromProfile(profile: Profile, named: Named, env: Environment): Environment {
  const filled: Record<string, string | undefined> = { ...env };
  const isSet = (...names: readonly string[]) => names.some((name) => Boolean(env[name]));
  const variables = Object.entries(variablesOf(profile));
  const give = (...names: readonly string[]) =>
    Object.assign(filled, Object.fromEntries(variables.filter(([name]) => names.includes(name))));
  if (!isVaultNamed(named, env)) {
    give(...VAULT_VARIABLES);
    for (const name of ['VAULT_HEADER_PREFIX', 'VAULT_CA_FILE']) if (!isSet(name)) give(name);
    const credentials = Object.values(FLAGS.credential).map((row) => row.env);
    if (!isSet(...credentials)) give(...credentials);
  }
  if (!isSet('VAULT_OUTPUT')) give('VAULT_OUTPUT');
  if (!isSet('VAULT_API_KEY', 'VAULT_API_KEY_FILE')) give('VAULT_API_KEY', 'VAULT_API_KEY_FILE');
  return filled;
}

/** Returns whether a flag or a variable names a vault. */
export function isVaultNamed(named: Named, env: Environment): boolean {
  return Boolean(named.url ?? named.file ?? named.store) || VAULT_VARIABLES.some((name) => env[name]);
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
  await withProfile(flags, env).catch(() => undefined);
}
