import { existsSync } from 'node:fs';
import type { Client } from '../contract/call.ts';
import { Fault } from '../core/fault.ts';
import type { VaultSettings } from '../vault.ts';
import {
  ANCHOR_FLAGS,
  DAEMON_FLAGS,
  type Environment,
  FILE_FLAGS,
  flagValue,
  type GlobalFlags,
} from './global-flags.ts';
import { includedActiveTokens } from './included-active-tokens.ts';

/** Where calls go: to a daemon, or straight to the file. */
export type Door =
  | { readonly kind: 'remote'; readonly url: string }
  | { readonly kind: 'direct'; readonly file: string };

const DEFAULT_FILE = './vault.db';

/**
 * Chooses the door: what was typed beats the environment, and two doors at one level are a mistake. Neither: the file
 * `./vault.db`, if it exists. Throws the fault `usage`.
 */
export function chooseDoor(flags: GlobalFlags, env: Environment, exists: (path: string) => boolean = existsSync): Door {
  const typed = doorOf(flags.url, flags.file, '--url and --file');
  const door = typed ?? doorOf(env['VAULT_URL'], env['VAULT_FILE'], 'VAULT_URL and VAULT_FILE');
  if (door !== undefined) return door;
  if (exists(DEFAULT_FILE)) return { kind: 'direct', file: DEFAULT_FILE };
  throw new Fault('usage', 'there is no vault to ask', {
    hint: 'set --url (VAULT_URL) or --file (VAULT_FILE), or make ./vault.db with `vault init`',
  });
}

/**
 * The file that a command without an endpoint works on; it never goes through a daemon. Whoever named only a daemon meant
 * that daemon's vault, and `./vault.db` may be another: the file must then be named. Throws the fault `usage`.
 */
export function chooseFile(flags: GlobalFlags, env: Environment): string {
  const hint = 'set --file (VAULT_FILE)';
  if (flags.url !== undefined) {
    throw new Fault('usage', 'this command works on the file, not through a daemon: --url is not for it', { hint });
  }
  const file = flagValue(flags.file, env, FILE_FLAGS.file);
  if (file === undefined && env['VAULT_URL']) {
    throw new Fault('usage', 'this command works on the file, and VAULT_URL or the profile names a daemon', { hint });
  }
  return file ?? DEFAULT_FILE;
}

/** The same for a command that makes what it works on, a file or a daemon: a daemon that runs elsewhere is not meant. */
export function chooseOwnFile(flags: GlobalFlags, env: Environment): string {
  return chooseFile(flags, { ...env, VAULT_URL: undefined });
}

/** Of a command that goes through many tokens: enough for a group of writes. */
const CACHE_KIB = 4 * 1024;

/** `calls` says whether a connection is worth keeping. `overRandom` is for the file: a daemon has its own random source. */
export async function openDoor(
  door: Door,
  flags: GlobalFlags,
  env: Environment,
  calls: 'one' | 'many',
  overRandom?: VaultSettings['overRandom'],
): Promise<Client> {
  if (door.kind === 'remote') {
    const { remoteClient } = await import('../client/remote.ts');
    const headerPrefix = flagValue(flags.headerPrefix, env, DAEMON_FLAGS.headerPrefix);
    return remoteClient({
      url: door.url,
      oneShot: calls === 'one',
      ...(headerPrefix !== undefined && { headerPrefix }),
    });
  }
  const anchor = flagValue(flags.anchor, env, ANCHOR_FLAGS.anchor);
  const included = includedActiveTokens(undefined, env);
  const { readCredential } = await import('./credential.ts');
  const credential = await readCredential(door.file, flags, env);
  const [{ openVault }, { directClient }] = await Promise.all([import('../vault.ts'), import('../client/direct.ts')]);
  const options = {
    anchor,
    includedActiveTokens: included,
    // One call and the end: whoever waits for it waits for its entry, too.
    auditStrict: true,
    overRandom,
    ...(calls === 'many' && { cacheKib: CACHE_KIB }),
    ...(env['VAULT_DEBUG'] !== '1' && { reportError: silent }),
  };
  return directClient(await openVault({ file: door.file, credential, ...options }));
}

function doorOf(url: string | undefined, file: string | undefined, both: string): Door | undefined {
  if (url && file) throw new Fault('usage', `${both} are two doors: give one`);
  if (url) return { kind: 'remote', url };
  return file ? { kind: 'direct', file } : undefined;
}

/** The command tells of the reply; what lies behind it is shown when it is asked for. */
function silent(): void {}
