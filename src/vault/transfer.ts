import type { Opener, Seal } from '../keyring/sealed-stream.ts';
import { type LargeSodium, loadLargeSodium } from '../keyring/sodium.ts';
import { type ExportView, exportTokens } from '../maintenance/export-tokens.ts';
import {
  type FileHolderOptions,
  type KeyHolderOptions,
  type OpenedKeyHolder,
  openFileForKeyHolder,
  openForKeyHolder,
} from './key-holder.ts';

/** The page cache of an export, in KiB. It is small, because an export reads no page twice. */
const CACHE_KIB = 2 * 1024;

type OpenExportOptions = KeyHolderOptions & {
  /** Undefined selects the only tenant of the vault. */
  readonly tenantId: string | undefined;
  readonly view: ExportView;
};

/**
 * Opens a vault and returns the export of a tenant's tokens. Throws as `openVault` does, `not_found` for an unknown
 * tenant, and `usage` without `tenantId` unless the vault has exactly one tenant.
 */
export async function openTokenExport({ tenantId, view, ...options }: OpenExportOptions) {
  const opened = options.store === undefined ? await openSmall(options) : await openForKeyHolder(options);
  try {
    return { ...(await exportTokens(opened, { tenantId, view })), close: opened.close };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

async function openSmall(options: FileHolderOptions): Promise<OpenedKeyHolder> {
  const opened = await openFileForKeyHolder(options);
  opened.store.limitCache(CACHE_KIB);
  return opened;
}

/** The seal of an export: the text of a public key, or a passphrase. */
export type NamedSeal = { readonly recipient: string } | { readonly passphrase: string };

/** Seals a stream of text. Throws the fault `usage` for a text that is not a public key, or `weak_passphrase`. */
export async function sealPieces(named: NamedSeal, pieces: AsyncIterable<string>): Promise<AsyncGenerator<Uint8Array>> {
  const { sealStream } = await import('../keyring/sealed-stream.ts');
  const sodium = await loadLargeSodium();
  return sealStream(sodium, await sealOf(sodium, named), pieces);
}

async function sealOf(sodium: LargeSodium, named: NamedSeal): Promise<Seal> {
  if ('recipient' in named) {
    const { parseRecipient } = await import('../keyring/transfer-key.ts');
    return { kind: 'recipient', public_key: parseRecipient(sodium, named.recipient) };
  }
  const { requireStrongPassphrase } = await import('../keyring/credential.ts');
  requireStrongPassphrase(named.passphrase, false);
  return { kind: 'passphrase', passphrase: named.passphrase };
}

/** The secret that opens a sealed export: the text of a secret key, or a passphrase. */
export type NamedOpener = { readonly secret: string } | { readonly passphrase: string };

/** Returns the bytes that `sealPieces` sealed. Throws the faults `wrong_credential`, `damaged`. */
export async function openPieces(named: NamedOpener, pieces: AsyncIterable<Uint8Array>) {
  const [{ openStream }, { parseTransferKey }] = await Promise.all([
    import('../keyring/sealed-stream.ts'),
    import('../keyring/transfer-key.ts'),
  ]);
  const sodium = await loadLargeSodium();
  const opener: Opener =
    'secret' in named
      ? { kind: 'recipient', key: parseTransferKey(sodium, named.secret) }
      : { kind: 'passphrase', passphrase: named.passphrase };
  return openStream(sodium, opener, pieces);
}

/** Returns whether a file that starts with these bytes is a sealed export. */
export async function isSealed(start: Uint8Array): Promise<boolean> {
  const { SEALED_MAGIC } = await import('../keyring/sealed-stream.ts');
  return SEALED_MAGIC.equals(start.subarray(0, SEALED_MAGIC.length));
}

/** Creates a key pair for sealed exports: the secret half for a file, the public one for senders. */
export async function createTransferKey(): Promise<{ readonly secret: string; readonly recipient: string }> {
  const { newTransferKey } = await import('../keyring/transfer-key.ts');
  return newTransferKey(await loadLargeSodium());
}
