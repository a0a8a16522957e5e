import { existsSync, statSync } from 'node:fs';
import { FAULTS } from '../../../contract/faults.ts';
import { Fault } from '../../../core/fault.ts';
import type { VaultPlace } from '../../../vault/place.ts';
import { keyFileBeside, namedCredential } from '../../credential.ts';
import { type Environment, FLAGS, flagValue, type GlobalFlags } from '../../global-flags.ts';
import { canPrompt } from '../../prompt.ts';
import { chooseOwnPlace } from '../../target.ts';
import type { ServeFlags, ServeOptions } from './serve-options.ts';

/**
 * Throws the fault `usage` for flags that several processes cannot share: an anchor, a --dev vault with its clock, a
 * socket. Also rejects secrets that can be read only once, because each worker reads its secrets itself.
 */
export function refuseForWorkers(flags: ServeFlags & GlobalFlags, options: ServeOptions, env: Environment): void {
  const given = [
    { flag: '--seed-file', typed: flags.seedFile, value: flags.seedFile },
    { flag: '--seed', typed: flags.seed, value: flags.seed },
    { flag: '--dev', typed: flags.dev, value: options.dev || undefined },
    { flag: '--anchor', typed: flags.anchor, value: flagValue(flags.anchor, env, FLAGS.anchor.anchor) },
    { flag: '--socket', typed: flags.socket, value: options.socket },
    { flag: 'a systemd socket (LISTEN_FDS)', typed: undefined, value: options.passed },
  ];
  for (const { flag, typed, value } of given) {
    if (value === undefined) continue;
    const isTyped = flags.workers !== undefined && typed !== undefined;
    const hint = 'environment variables count, too: VAULT_WORKERS sets --workers';
    throw new Fault('usage', `only one of --workers and ${flag} can be given`, isTyped ? {} : { hint });
  }
  const { keyFile, passphraseFile, keyCommand } = namedCredential(flags, env);
  if ((keyFile ?? passphraseFile ?? keyCommand) === undefined) refuseTyped(chooseOwnPlace(flags, env));
  refuseStream('--key-file', keyFile);
  refuseStream('--passphrase-file', passphraseFile);
  refuseStream('--tls-cert', options.tls?.cert);
  refuseStream('--tls-key', options.tls?.key);
}

/** Throws the fault `usage` if every worker would prompt for the passphrase. Without a terminal, no worker prompts. */
function refuseTyped({ file }: VaultPlace): void {
  if (!canPrompt() || (file !== undefined && (existsSync(keyFileBeside(file)) || !existsSync(file)))) return;
  throw new Fault('usage', 'several --workers cannot share a typed passphrase', {
    hint: FAULTS.credential_missing.hint,
  });
}

/** Throws the fault `usage` for standard input and `<(…)`, which can be read only once. */
function refuseStream(flag: string, path: string | undefined): void {
  if (path === undefined) return;
  const found = path === '-' ? undefined : statSync(path, { throwIfNoEntry: false });
  if (path !== '-' && (found === undefined || found.isFile())) return;
  throw new Fault('usage', `${flag}: several --workers cannot all read ${path}`, {
    hint: `name a regular file with ${flag}`,
  });
}
