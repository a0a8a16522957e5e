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
