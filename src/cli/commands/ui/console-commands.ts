import path from 'node:path';
import { shellWord } from '../../../client/shell-word.ts';
import type { ConsoleCommands } from '../../../console/about.ts';
import type { ConsoleKey } from '../../../console/identities.ts';
import type { VaultLocation } from '../../../vault/location.ts';
import { namedCredential, readApiKey } from '../../credential/read-credential.ts';
import { type Environment, FLAGS, type Line, readFlags } from '../../flags/global-flags.ts';
import type { Target } from '../../flags/target.ts';

/** Returns a flag with its value, quoted for a shell. Returns no words without a value. */
const words = (flag: string, value: string | undefined): readonly string[] =>
  value === undefined ? [] : [flag, shellWord(value)];

/** Returns the words with which commands in any folder reach the vault of a console. */
export function consoleCommands(target: Target, keys: readonly ConsoleKey[], line: Line) {
  const named = target.url === undefined ? ownWords(target, line) : daemonWords(target.url, line);
  const vault = named.join(' ');
  const keyFlags = keys.flatMap(({ flag = [] }) => flag);
  return {
    vault,
    ...(target.file !== undefined && { file: vault }),
    console: ['vault ui', vault, ...keyFlags].join(' '),
  } satisfies ConsoleCommands;
}

/** Returns the words for a --dev vault, which is temporary without a file. */
export function devCommands(file: string | undefined): ConsoleCommands {
  const named = words('--file', file && path.resolve(file)).join(' ');
  return {
    ...(file === undefined ? { temporary: true } : { file: named }),
    console: ['vault serve --dev', named].join(' ').trim(),
  };
}

function daemonWords(url: string, line: Line): readonly string[] {
  const { headerPrefix, caFile } = readFlags(FLAGS.daemon, line);
  return [
    ...words('--url', url),
    ...words('--header-prefix', headerPrefix),
    ...words('--ca-file', caFile && path.resolve(caFile)),
  ];
}

/** Returns the words that open a vault itself, without a credential that only a person or standard input has. */
function ownWords({ file, store }: VaultLocation, line: Line) {
  const { keyFile, keyCommand, passphraseFile } = namedCredential(line);
  return [
    ...words('--file', file && path.resolve(file)),
    ...words('--store', store?.url.shown),
    ...words('--key-file', keyFile && path.resolve(keyFile)),
    ...words('--key-command', keyCommand),
    ...words('--passphrase-file', passphraseFile === '-' ? undefined : passphraseFile && path.resolve(passphraseFile)),
  ];
}

/**
 * Resolves to the API keys of a console: those in the files, or else the key in the environment, which includes the
 * profile. There may be none, because the user can paste a key into the page.
 */
export async function readConsoleKeys(
  files: readonly string[],
  line: Line & { readonly profile?: string },
  ownEnv: Environment,
): Promise<readonly ConsoleKey[]> {
  const { flags, env, profile } = line;
  const named = env['VAULT_API_KEY'] ? undefined : env[FLAGS.key.apiKeyFile.env] || undefined;
  const chosen = files.length > 0 || named === undefined ? files : [named];
  if (chosen.length === 0 && env['VAULT_API_KEY']) {
    const apiKey = await readApiKey(line);
    if (profile === undefined || ownEnv['VAULT_API_KEY']) return [{ apiKey, source: 'VAULT_API_KEY' }];
    return [{ apiKey, source: `profile ${profile}`, flag: words('--profile', profile).join(' ') }];
  }
  return Promise.all(
    chosen.map(async (apiKeyFile) => ({
      apiKey: await readApiKey({ flags: { ...flags, apiKeyFile }, env }),
      source: path.basename(apiKeyFile),
      flag: words('--api-key-file', path.resolve(apiKeyFile)).join(' '),
    })),
  );
}
