import type { AuthorityDraft } from '../../src/core/audit/ports.ts';
import type { Store } from '../../src/core/ports.ts';
import type { FileStore } from '../../src/store/sqlite/sqlite-store.ts';

/** The writes of a rotation that seal records again. */
const RESEALS = new Set<string | symbol>(['resealTokens', 'resealApplicationKeys', 'replaceApplication']);

/** The work of another process. */
export interface Beside {
  /** Awaited after each write that seals records again. */
  readonly afterWrite: () => Promise<unknown>;
  /** Awaited before a method changes authority, when the process has followed the log for it. */
  readonly beforeChange?: (method: string) => Promise<unknown>;
}

/**
 * Returns a store of a rotation that works beside another process, and the number of rows that each change of authority
 * opened under the lock of the log.
 */
export function storeBeside<Opened extends Store & Partial<Pick<FileStore, 'removeAllTokens'>>>(
  store: Opened,
  { afterWrite, beforeChange }: Beside,
) {
  const opened: number[] = [];
  const counted = (draft: AuthorityDraft): AuthorityDraft => ({
    ...draft,
    sealBehind(rows) {
      opened.push(rows.length);
      return draft.sealBehind(rows);
    },
  });
  const changes: Partial<FileStore> = {
    async addTenantKey(tenantId, key, audit) {
      await beforeChange?.('addTenantKey');
      return store.addTenantKey(tenantId, key, counted(audit));
    },
    async removeTenantKey(tenantId, keyId, audit) {
      await beforeChange?.('removeTenantKey');
      return store.removeTenantKey(tenantId, keyId, counted(audit));
    },
    async removeAllTokens(tenantId, keyIds, { tokensRemoved, keyRemoved }) {
      await beforeChange?.('removeAllTokens');
      const { removeAllTokens } = store;
      if (removeAllTokens === undefined) throw new Error('unreachable: a file');
      return removeAllTokens(tenantId, keyIds, { tokensRemoved, keyRemoved: (id) => counted(keyRemoved(id)) });
    },
  };
  const over = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(changes, name) ?? Reflect.get(target, name);
      if (!RESEALS.has(name) || typeof value !== 'function') return value;
      return async (...words: unknown[]) => {
        const result: unknown = await Reflect.apply(value, target, words);
        await afterWrite();
        return result;
      };
    },
  });
  return { store: over, opened };
}
