import { typedValue } from '../exit/error-form.ts';
import type { Environment } from '../flags/global-flags.ts';
import { withProfile } from './with-profile.ts';

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
