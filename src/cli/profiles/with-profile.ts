import { Fault } from '../../core/fault.ts';
import { type Environment, FLAGS, flagValue, type GlobalFlags } from '../global-flags.ts';
import { type Profile, variablesOf } from './profile.ts';

/** The variables that name the vault or its credential. */
type Named = Pick<GlobalFlags, 'url' | 'file'>;

/**
 * Returns the environment, with the profile's values for unset variables. Flags still override both. A named profile
 * (`--profile`, `VAULT_PROFILE`) fills every gap. The default one (`vault profile use`) does not apply when a vault is
 * named elsewhere: its API key must not go to another vault. An empty name means no profile.
 */
export async function withProfile(flags: GlobalFlags, env: Environment): Promise<Environment> {
  const asked = flags.profile ?? flagValue(undefined, env, FLAGS.profile.profile);
  if (asked === '' || (asked === undefined && isVaultNamed(flags, env))) return env;
  const { openProfileStore } = await import('./profile-store.ts');
  const store = await openProfileStore(env);
  const name = asked ?? (await store.defaultName());
  if (name === undefined) return env;
  // A script would read exit code 3 as a missing record.
  const profile = await store.read(name).catch((error: unknown) => {
    if (!(error instanceof Fault) || error.code !== 'not_found') throw error;
    throw new Fault('usage', error.message, { hint: error.hint, cause: error });
  });
  return fillFromProfile(profile, flags, env);
}

/** The key file and the header prefix belong to the profile's own vault; the API key belongs to the caller. */
export function fillFromProfile(profile: Profile, named: Named, env: Environment): Environment {
  const filled: Record<string, string | undefined> = { ...env };
  const isSet = (...names: readonly string[]) => names.some((name) => Boolean(env[name]));
  const variables = Object.entries(variablesOf(profile));
  const give = (...names: readonly string[]) =>
    Object.assign(filled, Object.fromEntries(variables.filter(([name]) => names.includes(name))));
  if (!isVaultNamed(named, env)) {
    give('VAULT_URL', 'VAULT_FILE');
    if (!isSet('VAULT_HEADER_PREFIX')) give('VAULT_HEADER_PREFIX');
    const credentials = Object.values(FLAGS.credential).map((row) => row.env);
    if (!isSet(...credentials)) give(...credentials);
  }
  if (!isSet('VAULT_API_KEY', 'VAULT_API_KEY_FILE')) give('VAULT_API_KEY', 'VAULT_API_KEY_FILE');
  return filled;
}

function isVaultNamed(named: Named, env: Environment): boolean {
  return Boolean(named.url ?? named.file ?? (env['VAULT_URL'] || env['VAULT_FILE']));
}
