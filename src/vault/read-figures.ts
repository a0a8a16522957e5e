import { statSync } from 'node:fs';
import { TOKEN_TYPE_NAMES, type TokenType } from '../contract/token-types.ts';
import type { Context } from '../core/handler.ts';
import type { VaultFigures } from '../core/meter.ts';
import type { Instant } from '../core/ports.ts';
import { unlessDamaged } from '../core/problem.ts';
import { monthOf } from '../core/tokens/activity.ts';
import { freeSpace } from '../paths/file-system.ts';
import { openClockNote } from './clock/clock-note.ts';

/**
 * Reads the figures of a vault. `file` is its path, undefined for a database. Rejects with the problems of a store that
 * cannot answer.
 */
export async function readFigures(
  { store, keyring, audit, clock }: Pick<Context, 'store' | 'keyring' | 'audit' | 'clock'>,
  file: string | undefined,
): Promise<Omit<VaultFigures, 'writable'>> {
  const [{ format, generation: masterKey, vault_id }, tenants] = await Promise.all([
    store.header(),
    store.listTenantIds(),
  ]);
  const tokens = Object.fromEntries(TOKEN_TYPE_NAMES.map((type) => [type, 0])) as Record<TokenType, number>;
  const keys = { data: 0, index: 0 };
  for (const id of tenants) {
    const [tenant, { types }] = await Promise.all([
      unlessDamaged(() => store.findTenant(id)),
      store.usage(id, monthOf(clock.now()), clock.cutoff()),
    ]);
    for (const { purpose, key_id } of tenant?.keys ?? []) keys[purpose] = Math.max(keys[purpose], key_id);
    for (const { type, count } of types) tokens[type] += count;
  }
  const sizes =
    file === undefined ? undefined : { file: sizeOf(file), log: sizeOf(`${file}-wal`), free: await freeSpace(file) };
  const backedUpAt = file === undefined ? undefined : readBackupTime({ keyring, vault_id }, await store.clockNote());
  return { tokens, auditLag: audit.lag(), format, masterKey, keys, sizes, backedUpAt };
}

/** Returns the time of the last backup. Returns undefined for an altered note: sweeps and doctor report it. */
function readBackupTime(parts: Parameters<typeof openClockNote>[0], note: string): Instant | undefined {
  try {
    return openClockNote(parts, note).backed_up_at;
  } catch {
    return undefined;
  }
}

/** Returns the size of a file in bytes. Uses only `stat`, since reading the file would drop SQLite's locks. */
function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
