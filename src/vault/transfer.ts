import { Fault } from '../core/fault.ts';
import { noSuchTenant } from '../core/tenants/no-such-tenant.ts';
import type { Opener, Seal } from '../keyring/sealed-stream.ts';
import type { LargeSodium } from '../keyring/sodium.ts';
import { type ExportedToken, type ExportView, exportTokens } from '../maintenance/export-tokens.ts';
import { type KeyHolderOptions, openForKeyHolder } from './key-holder.ts';

/** The tokens of a vault's file, for whoever holds its key. */
export interface TokenExport {
  /** How many tokens there are, for a progress bar; changes while others write. */
  readonly total: number;
  pages(): AsyncGenerator<readonly ExportedToken[]>;
  close(): Promise<void>;
}

export interface OpenExportOptions extends KeyHolderOptions {
  /** May be left out where there is one. */
  readonly tenantId: string | undefined;
  readonly view: ExportView;
}

/** A row of the table and those of its indexes: an export comes back to none of them. */
const CACHE_KIB = 2 * 1024;

/** Throws what `openVault` throws, `not_found` for a tenant that there is not, `usage` where none is named and there are several. */
export async function openTokenExport({ tenantId, view, ...options }: OpenExportOptions): Promise<TokenExport> {
  const { store, keyring, clock, audit, close } = await openForKeyHolder(options);
  try {
    store.limitCache(CACHE_KIB);
    const tenant = chooseTenant(
      (await store.listTenants()).map((found) => found.tenant.id),
      tenantId,
    );
    const { types } = await store.usage(tenant, 0, clock.now());
    return {
      total: types.reduce((sum, { count }) => sum + count, 0),
      pages: () => exportTokens({ store, keyring, clock, audit }, tenant, view),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function chooseTenant(ids: readonly string[], wanted: string | undefined): string {
  const [only, ...others] = wanted === undefined ? ids : ids.filter((id) => id === wanted.toLowerCase());
  if (only !== undefined && others.length === 0) return only;
  if (wanted !== undefined) throw noSuchTenant();
  throw new Fault('usage', 'the file has several tenants, or none', {
    hint: 'set --tenant (VAULT_TENANT_ID); `vault tenant list` shows them',
  });
}

/** What a person names to seal with: a public key, or a passphrase. */
export type NamedSeal = { readonly recipient: string } | { readonly passphrase: string };

/** Seals text as it comes. Throws the fault `usage` for a text that is no public key, `weak_passphrase`. */
export async function sealPieces(named: NamedSeal, pieces: AsyncIterable<string>): Promise<AsyncGenerator<Uint8Array>> {
  const [{ loadLargeSodium }, { sealStream }] = await Promise.all([
    import('../keyring/sodium.ts'),
    import('../keyring/sealed-stream.ts'),
  ]);
  const sodium = await loadLargeSodium();
  return sealStream(sodium, await sealOf(sodium, named), pieces);
}

async function sealOf(sodium: LargeSodium, named: NamedSeal): Promise<Seal> {
  if ('recipient' in named) {
    const { parseRecipient } = await import('../keyring/transfer-key.ts');
    return { kind: 'recipient', public_key: parseRecipient(sodium, named.recipient) };
  }
  const { requireStrongPassphrase } = await import('../keyring/new-credential.ts');
  requireStrongPassphrase(named.passphrase, false);
  return { kind: 'passphrase', passphrase: named.passphrase };
}

/** What a person names to open with: the text of a secret key, or a passphrase. */
export type NamedOpener = { readonly secret: string } | { readonly passphrase: string };

/** Opens what `sealPieces` made. Throws the faults `wrong_credential`, `damaged`. */
export async function openPieces(
  named: NamedOpener,
  pieces: AsyncIterable<Uint8Array>,
): Promise<AsyncGenerator<Uint8Array>> {
  const [{ loadLargeSodium }, { openStream }, { parseTransferKey }] = await Promise.all([
    import('../keyring/sodium.ts'),
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

/** How a sealed export begins. */
export async function isSealed(start: Uint8Array): Promise<boolean> {
  const { SEALED_MAGIC } = await import('../keyring/sealed-stream.ts');
  return SEALED_MAGIC.equals(start.subarray(0, SEALED_MAGIC.length));
}

/** A key pair to seal exports for: the secret half for a file, the public one to give away. */
export async function createTransferKey(): Promise<{ readonly secret: string; readonly recipient: string }> {
  const [{ loadLargeSodium }, { newTransferKey }] = await Promise.all([
    import('../keyring/sodium.ts'),
    import('../keyring/transfer-key.ts'),
  ]);
  return newTransferKey(await loadLargeSodium());
}
