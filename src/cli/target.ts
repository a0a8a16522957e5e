import { existsSync } from 'node:fs';
import type { Client } from '../contract/call.ts';
import { CONSOLE_AGENT } from '../contract/dev-paths.ts';
import { Fault } from '../core/fault.ts';
import type { VaultSettings } from '../vault/vault.ts';
import type { Credential } from './credential.ts';
import { type Environment, FLAGS, flagValue, type GlobalFlags } from './global-flags.ts';
import { parseWhole } from './quantities.ts';

/** The target of calls: a daemon or the file itself. */
export type Target =
  | { readonly kind: 'remote'; readonly url: string }
  | { readonly kind: 'direct'; readonly file: string };

const DEFAULT_FILE = './vault.db';
const VARIABLE = 'VAULT_INCLUDED_ACTIVE_TOKENS';
const MAX_INCLUDED = 999_999_999_999_999;

/**
 * Returns the target of calls. Typed flags override the environment. Default: `./vault.db`, if it exists. Throws the
 * fault `usage` for no target, for two flags, and for two variables.
 */
export function chooseTarget(
  flags: GlobalFlags,
  env: Environment,
  exists: (path: string) => boolean = existsSync,
): Target {
  const typed = targetOf(flags.url, flags.file, '--url and --file');
  const target = typed ?? targetOf(env['VAULT_URL'], env['VAULT_FILE'], 'VAULT_URL and VAULT_FILE');
  if (target !== undefined) return target;
  if (exists(DEFAULT_FILE)) return { kind: 'direct', file: DEFAULT_FILE };
  throw new Fault('usage', 'no vault selected', {
    hint: 'set --url (VAULT_URL) or --file (VAULT_FILE), or make ./vault.db with `vault init`',
  });
}

/**
 * Returns the file for a command without an endpoint, which never uses a daemon. Throws the fault `usage` if only a
 * daemon is named: `./vault.db` may be another vault.
 */
export function chooseFile(flags: GlobalFlags, env: Environment): string {
  const hint = 'set --file (VAULT_FILE)';
  if (flags.url !== undefined) {
    throw new Fault('usage', 'this command works on the file and does not accept --url', { hint });
  }
  const file = flagValue(flags.file, env, FLAGS.file.file);
  if (file === undefined && env['VAULT_URL']) {
    throw new Fault('usage', 'this command works on the file, but VAULT_URL or the profile names a daemon', { hint });
  }
  return file ?? DEFAULT_FILE;
}

/** Returns the file as `chooseFile` does, for a command that creates its file or daemon. Ignores VAULT_URL. */
export function chooseOwnFile(flags: GlobalFlags, env: Environment): string {
  return chooseFile(flags, { ...env, VAULT_URL: undefined });
}

/** The size of the cache for a command that reads many tokens, in KiB. */
const CACHE_KIB = 4 * 1024;

/**
 * Opens the target and resolves to its client. `calls` determines whether to keep the connection. `given` applies only
 * to a file: it replaces the random source, and the credential that the flags name.
 */
export async function openTarget(
  target: Target,
  flags: GlobalFlags,
  env: Environment,
  calls: 'one' | 'many' | 'console',
  given: { readonly overRandom?: VaultSettings['overRandom']; readonly credential?: Credential | undefined } = {},
): Promise<Client> {
  if (target.kind === 'remote') {
    const { remoteClient } = await import('../client/remote.ts');
    const headerPrefix = flagValue(flags.headerPrefix, env, FLAGS.daemon.headerPrefix);
    return remoteClient({
      url: target.url,
      oneShot: calls === 'one',
      ...(calls === 'console' && { userAgent: CONSOLE_AGENT }),
      ...(headerPrefix !== undefined && { headerPrefix }),
    });
  }
  const anchor = flagValue(flags.anchor, env, FLAGS.anchor.anchor);
  const included = includedActiveTokens(undefined, env);
  const { readCredential } = await import('./credential.ts');
  const credential = given.credential ?? (await readCredential(target.file, flags, env));
  const [{ openVault }, { directClient }] = await Promise.all([
    import('../vault/vault.ts'),
    import('../client/direct.ts'),
  ]);
  const options = {
    anchor,
    includedActiveTokens: included,
    // Wait for the audit entry to be on disk, because the command may end right after the reply.
    auditStrict: true,
    overRandom: given.overRandom,
    ...(calls !== 'one' && { cacheKib: CACHE_KIB }),
    // Print the errors behind failed replies only with VAULT_DEBUG=1, because the command reports the replies.
    ...(env['VAULT_DEBUG'] !== '1' && { reportError: () => undefined }),
  };
  return directClient(await openVault({ file: target.file, credential, ...options }));
}

function targetOf(url: string | undefined, file: string | undefined, both: string): Target | undefined {
  if (url && file) throw new Fault('usage', `only one of ${both} can be given`);
  if (url) return { kind: 'remote', url };
  return file ? { kind: 'direct', file } : undefined;
}

/**
 * Returns `included_monthly_active_tokens` of the usage report (decisions §8), as typed or else from the variable;
 * undefined if neither is set. Throws the fault `usage` unless it is a whole number.
 */
export function includedActiveTokens(typed: string | undefined, env: Environment): number | undefined {
  const text = typed ?? (env[VARIABLE] || undefined);
  if (text === undefined) return undefined;
  return parseWhole(text, 0, MAX_INCLUDED, `--included-active-tokens (${VARIABLE}) must be a whole number`);
}
