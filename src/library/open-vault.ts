/// <reference lib="esnext.disposable" preserve="true" />
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  keptCredential,
  makeKeyFileBeside,
  type NewCredential,
  provideKeyFile,
} from '../cli/commands/keys/new-credential.ts';
import { startSweeper } from '../cli/commands/serve/sweeper.ts';
import { keyFileBeside, readKeyCommand, readKeyFile } from '../cli/credential.ts';
import { checkOptions, isText, type OptionRow } from '../client/check-options.ts';
import { type ClientOptions, typedClient, type VaultClient } from '../client/create-client.ts';
import { directClient } from '../client/direct.ts';
import type { Call, Reply } from '../contract/call.ts';
import { Fault } from '../core/fault.ts';
import { checkUnopenedVault, createVault, openVault as openFile } from '../vault/vault.ts';

/** The options of `openVault`. At most one of `keyFile`, `keyCommand`, `key` and `passphrase` may be given. */
export interface OpenVaultOptions {
  /** The path of the vault file. */
  readonly file: string;
  /** The path of a key file: 32 bytes, mode 0600. Default: `FILE.key`. */
  readonly keyFile?: string | undefined;
  /** A program that prints the key, with its arguments, separated by blanks, as for `vault --key-command`. */
  readonly keyCommand?: string | undefined;
  /** The 32 bytes of a key file. The vault works on a copy. */
  readonly key?: Uint8Array | undefined;
  readonly passphrase?: string | undefined;
  /**
   * The path of an anchor, which makes `openVault` reject an older copy of the file, as `vault serve --anchor` does.
   */
  readonly anchor?: string | undefined;
  /** Whether to create the vault if its file is missing, and then also a missing key file. */
  readonly createIfMissing?: boolean | undefined;
}

/** A vault file that is open in this process. */
export interface OpenedVault {
  /** The first tenant and its management key, which is shown only once. Undefined for a file that existed. */
  readonly created: { readonly tenant_id: string; readonly management_key: string } | undefined;
  /** Returns a client with the methods of `token-vault/client`, bound to one API key. */
  client(options: Pick<ClientOptions, 'apiKey' | 'timeout' | 'signal'>): VaultClient;
  /** Waits for running calls, closes the file and wipes the keys. Later calls return the same promise. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const isBoolean = (value: unknown) => typeof value === 'boolean';

const OPTIONS = {
  file: { is: isText, said: 'a path' },
  keyFile: { is: isText, said: 'a path' },
  keyCommand: { is: isText, said: 'a program and its arguments' },
  key: { is: (value) => value instanceof Uint8Array, said: 'a Uint8Array of 32 bytes' },
  passphrase: { is: isText, said: 'a string' },
  anchor: { is: isText, said: 'a path' },
  createIfMissing: { is: isBoolean, said: 'true or false' },
} as const satisfies Record<keyof OpenVaultOptions, OptionRow>;

/** The number of tries, because another process may be creating the key file and the vault at the same time. */
const MAX_TRIES = 40;
const PAUSE_MS = 50;

/**
 * Opens a vault file in this process, without a daemon. Daemons, commands and other processes may use the file at the
 * same time. Rejects with a `TypeError` for wrong options. Other errors have a `hint` and a `code`, such as
 * `file_missing`, `wrong_credential`, `file_unsafe` or `not_a_vault`.
 */
export async function openVault(options: OpenVaultOptions): Promise<OpenedVault> {
  checkOptions('openVault', OPTIONS, options);
  if (options.file === undefined) throw new TypeError('openVault: file (a path) is required');
  const openers = (['keyFile', 'keyCommand', 'key', 'passphrase'] as const).filter(
    (name) => options[name] !== undefined,
  );
  if (openers.length > 1) throw new TypeError(`openVault: only one of ${openers.join(' and ')} can be given`);
  for (let tries = 1; ; tries += 1) {
    try {
      return await openOrCreate(options);
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'file_exists' || tries === MAX_TRIES) throw error;
      await sleep(PAUSE_MS);
    }
  }
}

async function openOrCreate(options: OpenVaultOptions): Promise<OpenedVault> {
  const { file, anchor } = options;
  const isNew = !existsSync(file);
  if (isNew && options.createIfMissing !== true) {
    throw new Fault('file_missing', `there is no vault at ${file}`, {
      hint: 'make one with `vault init`, or pass createIfMissing',
    });
  }
  const { credential, undo } = await credentialOf(options, isNew);
  const wipe = () => void (credential.kind === 'key_file' && credential.key.fill(0));
  try {
    const made = isNew ? await createVault({ file, credential, tenantName: 'default' }) : undefined;
    await made?.vault.close();
    const created = made && { tenant_id: made.tenant.id, management_key: made.application.key ?? '' };
    // Write audit entries to disk before each reply, because a program may exit without calling `close`.
    const settings = { auditStrict: true, ...(process.env['VAULT_DEBUG'] !== '1' && { reportError: () => undefined }) };
    const vault = await openFile({ file, credential, anchor, ...settings });
    const stopSweeper = startSweeper({ sweep: vault.sweep, notices: vault.notices, report: () => undefined });
    const target = directClient(vault);
    return {
      created,
      ...closable(target.call, async (idle) => {
        stopSweeper();
        vault.endWaits();
        await idle();
        await target.close().finally(wipe);
      }),
    };
  } catch (error) {
    wipe();
    if (!existsSync(file)) await undo();
    throw error;
  }
}

async function credentialOf(options: OpenVaultOptions, isNew: boolean): Promise<NewCredential> {
  const { file, key, passphrase, keyFile, keyCommand } = options;
  if (passphrase !== undefined) return keptCredential({ kind: 'passphrase', passphrase });
  if (key !== undefined) return keptCredential({ kind: 'key_file', key: key.slice() });
  if (!isNew) await checkUnopenedVault(file);
  if (keyCommand !== undefined) return keptCredential(await readKeyCommand(keyCommand, 'keyCommand'));
  if (!isNew) {
    return keptCredential(await readKeyFile(keyFile ?? keyFileBeside(file), 'keyFile'));
  }
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
    const reply = call(sent).finally(() => running.delete(reply));
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
      if (!isText(options?.apiKey)) throw new TypeError('client: apiKey must be given, as a string');
      return typedClient(options, send);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
