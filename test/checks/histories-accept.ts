import { openVaultAdmin } from '../../src/vault/admin.ts';
import { checkVaultFile } from '../../src/vault/checks/check-vault-file.ts';
import type { Times } from '../../src/vault/clock/system-clock.ts';
import type { KeyHolderOptions } from '../../src/vault/key-holder.ts';

/** The codes of errors for damage that no acceptance mends: of the log, the header or the tables. */
const DAMAGE = ['integrity_failure', 'damaged', 'store_missing'];

const codeOf = (error: unknown) => String((error as { readonly code?: unknown }).code);

/** Accepts a tenant if it differs. Resolves to the code of the error, `accepted` or `match`. */
async function acceptOne(holder: KeyHolderOptions, id: string): Promise<string> {
  const admin = await openVaultAdmin(holder);
  try {
    await (await admin.compareTenant(id)).accept();
    return 'accepted';
  } catch (error) {
    return codeOf(error) === 'conflict' ? 'match' : codeOf(error);
  } finally {
    await admin.close();
  }
}

/**
 * Accepts every tenant that differs, and compares it again. Resolves to a sentence about the first one that still differs
 * or is closed, or to undefined. Skips a vault with damage that no acceptance mends.
 */
export async function acceptAll(
  holder: KeyHolderOptions,
  times: Times,
  ids: ReadonlySet<string>,
): Promise<string | undefined> {
  for (const id of ids) {
    const is = await acceptOne(holder, id).catch(codeOf);
    if (DAMAGE.includes(is)) return undefined;
    if (!['accepted', 'match', 'not_found'].includes(is)) return `tenant ${id} cannot be accepted: ${is}`;
    if (is !== 'accepted') continue;
    const again = await acceptOne(holder, id).catch(codeOf);
    if (!['match', 'not_found'].includes(again)) return `tenant ${id} after its acceptance: ${again}`;
  }
  const { notices } = await checkVaultFile({ ...holder, times });
  return notices.find((notice) => /^every call of tenant/.test(notice));
}
