import { existsSync, statSync } from 'node:fs';
import { FAULTS } from '../../../contract/faults.ts';
import { Fault } from '../../../core/fault.ts';
import { keyFileBeside, namedCredential } from '../../credential.ts';
import { type Environment, FLAGS, flagValue, type GlobalFlags } from '../../global-flags.ts';
import { canPrompt } from '../../prompt.ts';
import { chooseOwnFile } from '../../target.ts';
import type { ServeFlags, ServeOptions } from './serve-options.ts';

/**
 * Rejects flags that several processes cannot share: one anchor, one movable clock, one socket. Also rejects secrets
 * that each worker would have to ask for again, since the supervisor passes no secret to a worker. Throws the fault
 * `usage`.
 */
export function refuseForWorkers(flags: ServeFlags & GlobalFlags, options: ServeOptions, env: Environment): void {
  const given = [
    { flag: '--seed-file', typed: flags.seedFile, value: flags.seedFile },
    { flag: '--seed', typed: flags.seed, value: flags.seed },
    { flag: '--dev', typed: flags.dev, value: options.dev || undefined },
    { flag: '--anchor', typed: flags.anchor, value: flagValue(flags.anchor, env, FLAGS.anchor.anchor) },
    { flag: '--socket', typed: flags.socket, value: options.socket },
  ];
  for (const { flag, typed, value } of given) {
    if (value === undefined) continue;
    const isTyped = flags.workers !== undefined && typed !== undefined;
    const hint = 'variables count, too: VAULT_WORKERS is --workers';
    throw new Fault('usage', `only one of --workers and ${flag} can be given`, isTyped ? {} : { hint });
  }
  const { keyFile, passphraseFile, keyCommand } = namedCredential(flags, env);
  if ((keyFile ?? passphraseFile ?? keyCommand) === undefined) refuseTyped(chooseOwnFile(flags, env));
  refuseStream('--key-file', keyFile);
  refuseStream('--passphrase-file', passphraseFile);
  refuseStream('--tls-cert', options.tls?.cert);
  refuseStream('--tls-key', options.tls?.key);
}

/** Without a terminal the workers report missing flags, as a single process does. */
function refuseTyped(file: string): void {
  if (existsSync(keyFileBeside(file)) || !existsSync(file) || !canPrompt()) return;
  throw new Fault('usage', 'several --workers cannot share a typed passphrase', {
    hint: FAULTS.credential_missing.hint,
  });
}

/** Standard input and `<(…)` can be read only once. */
function refuseStream(flag: string, path: string | undefined): void {
  if (path === undefined) return;
  const found = path === '-' ? undefined : statSync(path, { throwIfNoEntry: false });
  if (path !== '-' && (found === undefined || found.isFile())) return;
  throw new Fault('usage', `${flag}: several --workers cannot all read ${path}`, {
    hint: `name a regular file with ${flag}`,
  });
}
