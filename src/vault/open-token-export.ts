import { TOKEN_TYPES, type TokenTypeRow } from '../contract/token-types.ts';
import { withFreshKeys } from '../core/fresh-keys.ts';
import { JsonText, type Printable } from '../core/json/stringify.ts';
import type { InspectedRow } from '../core/key-holder-ports.ts';
import type { TenantKeyring, TokenRecord } from '../core/ports.ts';
import { Problem } from '../core/problem.ts';
import { recordColumns } from '../core/tokens/clear-columns.ts';
import { areSealed, sealedIndexes } from '../core/tokens/indexes.ts';
import { decodeDefinition, openFull, openPresented, parseDetails } from '../core/tokens/token-codec.ts';
import {
  type FileHolderOptions,
  type KeyHolder,
  type KeyHolderOptions,
  type OpenedKeyHolder,
  openFileForKeyHolder,
  openForKeyHolder,
} from './key-holder.ts';
import { onlyTenant } from './tenants/each-tenant.ts';

/** The page cache of an export, in KiB. It is small, because an export reads no page twice. */
const CACHE_KIB = 2 * 1024;

/** The number of rows that are read and decrypted at once. */
const PAGE = 200;

/** The contents of an export: tokens as they are, or only their masked forms for sharing. */
export type ExportView = 'full' | 'masked';

/** A token as a row of an export. */
export type ExportedToken = Readonly<Record<string, Printable | undefined>>;

type OpenExportOptions = KeyHolderOptions & {
  /** Undefined selects the only tenant of the vault. */
  readonly tenantId: string | undefined;
  readonly view: ExportView;
};

/**
 * Opens a vault and returns the export of a tenant's tokens: `total`, their current number for a progress bar, and
 * `pages`, which yields them. Throws as `openFileVault` does, `not_found` for an unknown tenant, and `usage` without
 * `tenantId` unless the vault has exactly one tenant.
 */
export async function openTokenExport({ tenantId, view, ...options }: OpenExportOptions) {
  const opened = options.store === undefined ? await openSmall(options) : await openForKeyHolder(options);
  try {
    const tenant = await onlyTenant(opened, tenantId);
    const { types } = await opened.store.usage(tenant, 0, opened.clock.cutoff());
    const total = types.reduce((sum, { count }) => sum + count, 0);
    return { total, pages: () => exportPages(opened, tenant, view), close: opened.close };
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

/**
 * Yields all live tokens of a tenant by id, page by page. Skips and repeats no token, even during concurrent writes. A
 * `full` row is a Create Token body that creates the same token again: same id, data, definition, containers, metadata
 * and expiry. The audit entry is on disk before the first row. Throws `integrity_failure` for a token that cannot be
 * decrypted, and for one whose stored blind indexes do not follow from its sealed values.
 */
async function* exportPages(
  { store, keyring, clock, follower, audit }: KeyHolder,
  tenantId: string,
  view: ExportView,
): AsyncGenerator<readonly ExportedToken[]> {
  const revealed = view === 'full' || undefined;
  await follower.follow();
  await audit.record({ action: 'exportTokens', status: 200, tenant_id: tenantId, entities: [view], revealed });
  let after = '';
  for (;;) {
    // The keys may have been rotated between the two reads. The next attempt gets matching rows and keys.
    const page = await withFreshKeys(keyring, () => readPage(after));
    if (page.last === undefined) return;
    yield page.rows;
    after = page.last;
  }

  async function readPage(from: string) {
    const found = await store.inspectRows('token', tenantId, from, PAGE);
    const tenant = await store.findTenant(tenantId);
    if (tenant === undefined) throw new Problem('unauthenticated');
    const opened = keyring.openTenant(tenantId, tenant.keys);
    const now = clock.cutoff();
    return { rows: found.flatMap((row) => exportRow(opened, row, view, now)), last: found.at(-1)?.id };
  }
}

function exportRow(
  keyring: TenantKeyring,
  { id, record, indexes }: InspectedRow<TokenRecord>,
  view: ExportView,
  now: number,
): readonly ExportedToken[] {
  if (record === undefined) throw new Problem('integrity_failure');
  if (record.expires_at !== undefined && record.expires_at <= now) return [];
  const columns = recordColumns(record);
  const { details, masked, definitionText } = openPresented(keyring, id, record, columns);
  const sealed = sealedIndexes(keyring, columns.index_key_id, parseDetails(details));
  if (!areSealed(indexes, sealed)) throw new Problem('integrity_failure');
  const { containers, metadata, expires_at } = details;
  const shared = { containers, metadata, expires_at };
  if (view === 'masked') return [{ id, type: record.type, masked: masked && new JsonText(masked), ...shared }];
  const definition = decodeDefinition(record.type, definitionText);
  const { mask, search_indexes = [], fingerprint_expression, without_result } = definition;
  const defaults: TokenTypeRow = TOKEN_TYPES[record.type];
  return [
    {
      id,
      type: record.type,
      data: new JsonText(openFull(keyring, id, record, columns).data),
      // An import without `mask` uses the mask of the type. A token without a mask therefore needs an explicit null.
      mask: mask === undefined && defaults.mask !== undefined ? null : mask,
      search_indexes,
      fingerprint_expression,
      without_result,
      ...shared,
      deduplicate_token: false,
    },
  ];
}
