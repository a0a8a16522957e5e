import { existsSync } from 'node:fs';
import { type RemoteOptions, remoteClient } from '../../client/remote.ts';
import type { Client } from '../../contract/call.ts';
import { CONSOLE_AGENT } from '../../contract/dev-paths.ts';
import { Fault } from '../../core/fault.ts';
import type { Credential } from '../../keyring/credential.ts';
import { openVaultAt, parseStore, type StoreLocation, type VaultLocation } from '../../vault/location.ts';
import type { VaultSettings } from '../../vault/vault.ts';
import { readCredential } from '../credential/read-credential.ts';
import { type Environment, FLAGS, type GlobalFlags, type Line, readFlags } from './global-flags.ts';
import { parseWhole } from './quantities.ts';

/** The target of calls: a daemon, the file itself, or the database itself. */
export type Target =
  | { readonly url: string; readonly file?: undefined; readonly store?: undefined }
  | (VaultLocation & { readonly url?: undefined });

const DEFAULT_FILE = './vault.db';
const VARIABLE = 'VAULT_INCLUDED_ACTIVE_TOKENS';
const MAX_INCLUDED = 999_999_999_999_999;

/** The values of the flags that name a vault. */
type Named = { readonly [Name in 'url' | 'file' | 'store']?: string | undefined };

/**
 * Returns the target of calls. Typed flags override the environment. Default: `./vault.db`, if it exists. Throws the
 * fault `usage` for no target, for two flags, and for two variables.
 */
export function chooseTarget(line: Line, exists: (path: string) => boolean = existsSync): Target {
  const { url, file, store } = namedVault(line.flags, line.env);
  if (url) return { url };
  if (store !== undefined) return { store: parseStore(store, isInsecure(line)) };
  if (file) return { file };
  if (exists(DEFAULT_FILE)) return { file: DEFAULT_FILE };
  throw new Fault('usage', 'no vault selected', {
    hint: 'set --url (VAULT_URL), --file (VAULT_FILE) or --store (VAULT_STORE), or create ./vault.db with `vault init`',
  });
}

/**
 * Returns the file or the database for a command that never uses a daemon. Throws the fault `usage` if only a daemon is
 * named, because `./vault.db` may be another vault.
 */
export function chooseLocation(line: Line): VaultLocation {
  const { flags, env } = line;
  const hint = 'set --file (VAULT_FILE) or --store (VAULT_STORE)';
  if (flags.url !== undefined) {
    throw new Fault('usage', 'this command works on the vault itself and does not accept --url', { hint });
  }
  const named = namedVault(flags, { ...env, VAULT_URL: undefined });
  if (named.store !== undefined) return { store: parseStore(named.store, isInsecure(line)) };
  const file = flags.file ?? named.file;
  if (file === undefined && env['VAULT_URL']) {
    throw new Fault('usage', 'this command works on the vault itself, but VAULT_URL or the profile names a daemon', {
      hint,
    });
  }
  return { file: file ?? DEFAULT_FILE };
}

/** Returns the location as `chooseLocation` does, for a command that creates its vault or daemon. Ignores VAULT_URL. */
export function chooseOwnLocation({ flags, env }: Line): VaultLocation {
  return chooseLocation({ flags, env: { ...env, VAULT_URL: undefined } });
}

/** Returns the file as `chooseLocation` does, for a command that works only on files. Throws `usage` for a store. */
export function chooseFile(line: Line, hint?: string): string {
  const { file, store } = chooseLocation(line);
  return file ?? refuseStore(store, hint);
}

/** Throws the fault `usage`: the command works only on files. `hint` is what to do with a database. */
export function refuseStore(
  { url }: StoreLocation,
  hint = `back up a database with \`pg_dump --format=directory --schema=${url.schema}\`, and restore it with \`pg_restore\``,
): never {
  throw new Fault('usage', 'this command works only on a file, and --store (VAULT_STORE) names a database', { hint });
}

/** The size of the cache for a command that reads many tokens, in KiB. */
const CACHE_KIB = 4 * 1024;

/**
 * Opens the target and resolves to its client. `calls` determines whether to keep the connection. `given` replaces the
 * random source, and the credential of the flags. It has no effect on a daemon.
 */
export async function openTarget(
  target: Target,
  line: Line,
  calls: 'one' | 'many' | 'console',
  given: { readonly overRandom?: VaultSettings['overRandom']; readonly credential?: Credential | undefined } = {},
): Promise<Client> {
  if (target.url !== undefined) {
    return remoteClient({
      ...(await daemonAt(target.url, line)),
      oneShot: calls === 'one',
      ...(calls === 'console' && { userAgent: CONSOLE_AGENT }),
    });
  }
  const vault = await openVaultAt(target, {
    credential: given.credential ?? (await readCredential(target, line)),
    anchor: readFlags(FLAGS.anchor, line).anchor,
    includedActiveTokens: includedActiveTokens(line.env[VARIABLE] || undefined),
    // Wait for the audit entry to be on disk, because the command may end right after the reply.
    auditStrict: true,
    overRandom: given.overRandom,
    ...(calls !== 'one' && { cacheKib: CACHE_KIB }),
    // Print the errors behind failed replies only with VAULT_DEBUG=1, because the command reports the replies.
    reportError: line.env['VAULT_DEBUG'] === '1' ? undefined : () => undefined,
  });
  const { directClient } = await import('../../client/direct.ts');
  return directClient(vault);
}

/**
 * Resolves to the options that reach a daemon. Rejects with the fault `usage` for a --ca-file without a certificate.
 */
export async function daemonAt(url: string, line: Line): Promise<Pick<RemoteOptions, 'url' | 'headerPrefix' | 'ca'>> {
  return { url, headerPrefix: readFlags(FLAGS.daemon, line).headerPrefix, ca: await readTrusted(url, line) };
}

/** Resolves to the certificates of --ca-file, as PEM text; undefined without the flag, and for a URL without TLS. */
export async function readTrusted(url: string, line: Line): Promise<string | undefined> {
  const path = readFlags(FLAGS.daemon, line).caFile;
  if (path === undefined || !/^https:/i.test(url)) return undefined;
  const [{ readSmallFile }, { X509Certificate }] = await Promise.all([
    import('../files/secret-file.ts'),
    import('node:crypto'),
  ]);
  const text = (await readSmallFile('--ca-file', path)).toString('utf8');
  try {
    new X509Certificate(text);
  } catch (cause) {
    throw new Fault('usage', `--ca-file: ${path} does not begin with a certificate in PEM`, { cause });
  }
  return text;
}

/** Returns the names of a vault from the flags or, without any, from the environment. Throws `usage` for two names. */
function namedVault({ url, file, store }: GlobalFlags, env: Environment): Named {
  const { VAULT_URL, VAULT_FILE, VAULT_STORE } = env;
  const set = { url: VAULT_URL || undefined, file: VAULT_FILE || undefined, store: VAULT_STORE || undefined };
  const typed = onlyOneOf({ url, file, store }, (name) => `--${name}`);
  return typed ?? onlyOneOf(set, (name) => `VAULT_${name.toUpperCase()}`) ?? {};
}

function onlyOneOf(named: Named, shown: (name: string) => string): Named | undefined {
  const given = Object.entries(named).filter(([name, value]) => (name === 'store' ? value !== undefined : value));
  if (given.length <= 1) return given.length === 0 ? undefined : named;
  throw new Fault('usage', `only one of ${given.map(([name]) => shown(name)).join(' and ')} can be given`);
}

/** Returns the vault that a flag names: the URL of a database, or the path of a file. */
export function parseLocation(text: string, line: Line): VaultLocation {
  return /^postgres(ql)?:/i.test(text) ? { store: parseStore(text, isInsecure(line)) } : { file: text };
}

const isInsecure = (line: Line): boolean => readFlags(FLAGS.store, line).insecureStore;

/**
 * Returns `included_monthly_active_tokens` of the usage report (decisions §8); undefined if it is not set. Throws the
 * fault `usage` unless it is a whole number.
 */
export function includedActiveTokens(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  return parseWhole(text, 0, MAX_INCLUDED, `--included-active-tokens (${VARIABLE}) must be a whole number`);
}
