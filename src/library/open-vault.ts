/// <reference lib="esnext.disposable" preserve="true" />
import { existsSync } from 'node:fs';
import { types } from 'node:util';
import {
  keptCredential,
  makeKeyFileBeside,
  type NewCredential,
  newKey,
  provideKeyCommand,
  provideKeyFile,
} from '../cli/commands/keys/new-credential.ts';
import { startSweeper } from '../cli/commands/serve/sweeper.ts';
import { keyFileBeside, noKeyFor, readKeyCommand, readKeyFile } from '../cli/credential/read-credential.ts';
import { checkNames, checkOptions, isText, type OptionRow } from '../client/check-options.ts';
import { type ClientOptions, OPTIONS_OF_EACH, typedClient, type VaultClient } from '../client/create-client.ts';
import { directClient } from '../client/direct.ts';
import type { Call, Reply } from '../contract/call.ts';
import { Fault } from '../core/fault.ts';
import { sleep } from '../core/timers.ts';
import type { Credential } from '../keyring/credential.ts';
import { openVaultAt, parseStore, type VaultLocation } from '../vault/location.ts';
import { createVault } from '../vault/vault.ts';

/**
 * The options of `openVault`. One of `file` and `store` is required, and at most one of `keyFile`, `keyCommand`, `key`
 * and `passphrase`. A store requires one of them.
 */
export interface OpenVaultOptions {
  /** The path of the vault file. */
  readonly file?: string | undefined;
  /** The URL of a PostgreSQL database that contains a vault, as for `vault --store`. */
  readonly store?: string | undefined;
  /** Whether to accept what `vault --insecure-store` accepts. */
  readonly insecureStore?: boolean | undefined;
  /** The path of a key file: 32 bytes, mode 0600. Default: `FILE.key`. */
  readonly keyFile?: string | undefined;
  /** A program that prints the key, with its arguments, separated by blanks, as for `vault --key-command`. */
  readonly keyCommand?: string | undefined;
  /** The 32 bytes of a key file. `openVault` copies them at once, and never changes the caller's. */
  readonly key?: Uint8Array | undefined;
  readonly passphrase?: string | undefined;
  /**
   * The path of an anchor, which makes `openVault` reject an older copy of the vault, as `vault serve --anchor` does.
   */
  readonly anchor?: string | undefined;
  /** Whether to create the vault if its file is missing, and then also a missing key file. Only with `file`. */
  readonly createIfMissing?: boolean | undefined;
}

/** A vault that is open in this process. */
export interface OpenedVault {
  /** The first tenant and its management key, which is shown only once. Undefined for a file that existed. */
  readonly created: { readonly tenant_id: string; readonly management_key: string } | undefined;
  /** Returns a client with the methods of `token-vault/client`, bound to one API key. */
  client(options: Pick<ClientOptions, 'apiKey' | 'timeout' | 'signal'>): VaultClient;
  /** Waits for running calls, closes the vault and wipes the keys. Later calls return the same promise. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const isBoolean = (value: unknown) => typeof value === 'boolean';

const OPTIONS = {
  file: { is: isText, expected: 'a path' },
  store: { is: isText, expected: 'a URL' },
  insecureStore: { is: isBoolean, expected: 'true or false' },
  keyFile: { is: isText, expected: 'a path' },
  keyCommand: { is: isText, expected: 'a program and its arguments' },
  // Not instanceof, which rejects the arrays of a test runner's own globals.
  key: { is: (value) => types.isUint8Array(value) && value.length === 32, expected: 'a Uint8Array of 32 bytes' },
  passphrase: { is: isText, expected: 'a string' },
  anchor: { is: isText, expected: 'a path' },
  createIfMissing: { is: isBoolean, expected: 'true or false' },
} as const satisfies Record<keyof OpenVaultOptions, OptionRow>;

/** The number of tries, because another process may be creating the key file and the vault at the same time. */
const MAX_TRIES = 40;
const PAUSE_MS = 50;

/**
 * Opens a vault in this process, without a daemon. Daemons, commands and other processes may use the vault at the same
 * time. Rejects with a `TypeError` for wrong options. Other errors have a `hint` and a `code`, such as `file_missing`,
 * `wrong_credential`, `file_unsafe`, `not_a_vault`, `store_missing` or `store_unreachable`.
 */
export async function openVault(options: OpenVaultOptions): Promise<OpenedVault> {
  checkOptions('openVault', OPTIONS, options);
  const { file, store } = options;
  const openers = given(options, 'keyFile', 'keyCommand', 'key', 'passphrase');
  if (openers.length > 1) throw new TypeError(`openVault: only one of ${openers.join(' and ')} can be given`);
  if (file !== undefined && store !== undefined)
    throw new TypeError('openVault: only one of file and store can be given');
  // Copy the key before the first await: the caller may overwrite its own at once.
  const key = options.key && new Uint8Array(options.key);
  try {
    if (store !== undefined) return await openInStore(store, { ...options, key }, openers.length === 1);
    if (file === undefined) throw new TypeError('openVault: file (a path) or store (a URL) is required');
    return await openFile(file, { ...options, key });
  } finally {
    key?.fill(0);
  }
}

async function openFile(file: string, options: OpenVaultOptions): Promise<OpenedVault> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await openOrCreate(file, options);
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'file_exists' || tries === MAX_TRIES) throw error;
      await sleep(PAUSE_MS);
    }
  }
}

function given(options: OpenVaultOptions, ...names: readonly (keyof OpenVaultOptions)[]): readonly string[] {
  return names.filter((name) => options[name] !== undefined);
}

async function openInStore(store: string, options: OpenVaultOptions, hasKey: boolean): Promise<OpenedVault> {
  if (options.createIfMissing !== undefined) throw new TypeError('openVault: createIfMissing works only with file');
  if (!hasKey) throw new TypeError('openVault: a store needs keyFile, keyCommand, key or passphrase');
  const location = { store: parseStore(store, options.insecureStore === true) };
  const credential = await namedCredential(options);
  return openAt(location, credential, options.anchor).catch((error: unknown) => {
    wipe(credential);
    throw error;
  });
}

async function openOrCreate(file: string, options: OpenVaultOptions): Promise<OpenedVault> {
  const { anchor } = options;
  const isNew = !existsSync(file);
  if (isNew && options.createIfMissing !== true) {
    throw new Fault('file_missing', `there is no vault at ${file}`, {
      hint: 'create one with `vault init`, or pass createIfMissing',
    });
  }
  const { credential, removeKeyFile } = await credentialOf(file, options, isNew);
  try {
    const fresh = isNew ? await createVault({ file, credential, tenantName: 'default' }) : undefined;
    await fresh?.vault.close();
    const created = fresh && { tenant_id: fresh.tenant.id, management_key: fresh.application.key ?? '' };
    return await openAt({ file }, credential, anchor, created);
  } catch (error) {
    wipe(credential);
    if (!existsSync(file)) await removeKeyFile();
    // The usual hint names a flag.
    if (!(error instanceof Fault) || error.code !== 'weak_passphrase') throw error;
    throw new Fault(error.code, error.message, { hint: 'use a longer passphrase', cause: error });
  }
}

/** Opens an existing vault. Wipes the key when the vault closes. */
async function openAt(
  location: VaultLocation,
  credential: Credential,
  anchor: string | undefined,
  created?: OpenedVault['created'],
): Promise<OpenedVault> {
  // Write audit entries to disk before each reply, because a program may exit without calling `close`.
  const settings = { auditStrict: true, ...(process.env['VAULT_DEBUG'] !== '1' && { reportError: () => undefined }) };
  const vault = await openVaultAt(location, { credential, anchor, ...settings });
  const stopSweeper = startSweeper({ sweep: vault.sweep, notices: vault.notices, report: () => undefined });
  const target = directClient(vault);
  return {
    created,
    ...closable(target.call, async (idle) => {
      stopSweeper();
      vault.endWaits();
      await idle();
      await target.close().finally(() => wipe(credential));
    }),
  };
}

function wipe(credential: Credential): void {
  if (credential.kind === 'key_file') credential.key.fill(0);
}

/** Resolves to the credential that the options name. The caller wipes its key. */
async function namedCredential({ passphrase, key, keyCommand, keyFile = '' }: OpenVaultOptions): Promise<Credential> {
  if (passphrase !== undefined) return { kind: 'passphrase', passphrase };
  if (key !== undefined) return { kind: 'key_file', key: new Uint8Array(key) };
  if (keyCommand !== undefined) return readKeyCommand(keyCommand, 'keyCommand');
  return readKeyFile(keyFile, 'keyFile');
}

async function credentialOf(file: string, options: OpenVaultOptions, isNew: boolean): Promise<NewCredential> {
  const { key, passphrase, keyFile, keyCommand } = options;
  const isGiven = (passphrase ?? key) !== undefined;
  if (!isNew) {
    const isNamed = isGiven || (keyFile ?? keyCommand) !== undefined;
    if (!isNamed && !existsSync(keyFileBeside(file))) throw noKeyFor(file);
    return keptCredential(await namedCredential({ ...options, keyFile: keyFile ?? keyFileBeside(file) }));
  }
  if (isGiven) return newKey(await namedCredential(options), 'key');
  if (keyCommand !== undefined) return provideKeyCommand(keyCommand, 'keyCommand');
  return keyFile === undefined ? makeKeyFileBeside(file, 'keyFile') : provideKeyFile(keyFile, 'keyFile');
}

/** Returns the functions that create clients and close the vault. `end` closes it when all calls have ended. */
function closable(
  call: (call: Call) => Promise<Reply>,
  end: (idle: () => Promise<unknown>) => Promise<void>,
): Omit<OpenedVault, 'created'> {
  const running = new Set<Promise<Reply>>();
  let closing: Promise<void> | undefined;

  async function send(sent: Call, signal: AbortSignal): Promise<Reply> {
    if (closing !== undefined) throw new Fault('usage', 'the vault is closed', { hint: 'call openVault again' });
    signal.throwIfAborted();
    const isAbandoned = () => signal.aborted;
    const reply = call({ ...sent, isAbandoned }).finally(() => running.delete(reply));
    running.add(reply);
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
      reply.then(resolve, reject);
    });
  }

  function close(): Promise<void> {
    closing ??= end(() => Promise.allSettled(running));
    return closing;
  }

  return {
    client(options) {
      checkNames('client', OPTIONS_OF_EACH, options ?? {});
      return typedClient(options, send);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
