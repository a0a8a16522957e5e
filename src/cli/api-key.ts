import { Fault } from '../core/fault.ts';
import { type Environment, type GlobalFlags, KEY_FLAGS } from './global-flags.ts';
import { readSecretFile } from './secret-file.ts';

/** Who asks: `--api-key-file`, else `VAULT_API_KEY`, else the file of `VAULT_API_KEY_FILE`. */
export async function readApiKey(flags: GlobalFlags, env: Environment): Promise<string> {
  const file = flags.apiKeyFile ?? (env['VAULT_API_KEY'] ? undefined : env[KEY_FLAGS.apiKeyFile.env] || undefined);
  if (file !== undefined) return (await readSecretFile('--api-key-file', file)).toString('utf8').trim();
  const key = env['VAULT_API_KEY']?.trim();
  if (key) return key;
  throw new Fault('usage', 'an API key is needed', {
    hint: 'set VAULT_API_KEY or --api-key-file (VAULT_API_KEY_FILE)',
  });
}
