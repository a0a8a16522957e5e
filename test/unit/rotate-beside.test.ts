import { expect, it } from 'vitest';
import type { AuthorityDraft } from '../../src/core/audit/ports.ts';
import type { Store } from '../../src/core/ports.ts';
import type { FileStore } from '../../src/store/sqlite/sqlite-store.ts';
import { resetTokens } from '../../src/vault/keys/reset-tokens.ts';
import { rotateTenant } from '../../src/vault/keys/rotate-tenant.ts';
import {
  callVault,
  doctor,
  fileVault,
  openedForKeyHolder,
  openedVault,
  prune,
  withAdmin,
} from './vault-admin-fixture.ts';

/** The writes of a rotation that seal records again. */
const RESEALS = new Set<string | symbol>(['resealTokens', 'resealApplicationKeys', 'replaceApplication']);

/** The work of another process. */
interface Beside {
  /** Awaited after each write that seals records again. */
  readonly afterWrite: () => Promise<unknown>;
  /** Awaited before a method changes authority, when the process has followed the log for it. */
  readonly beforeChange?: (method: string) => Promise<unknown>;
}

/**
 * Returns a store of a rotation that works beside another process, and the number of rows that each change of authority
 * opened under the lock of the log.
 */
function storeBeside<Opened extends Store & Partial<Pick<FileStore, 'removeAllTokens'>>>(
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

/** The number of tokens that the other process creates after each write of the rotation. */
const CREATED = 40;
/** The maximum number of rows that a change may open under the lock. The other process writes none meanwhile. */
const MAX_OPENED = 3;

async function beside() {
  const vault = await fileVault(120);
  const { file, tenantId, apiKey } = vault;
  const other = await openedVault(file);
  const create = async () => {
    for (let n = 0; n < CREATED; n += 1) {
      const body = { type: 'token', data: n };
      expect(await callVault(other, apiKey, 'createToken', { body })).toMatchObject({ status: 201 });
    }
  };
  let prunes = 0;
  /** Removes the entries so far, also the last one that the rotation has followed. */
  async function pruneNow(): Promise<void> {
    await create();
    await prune(vault, `archive-${prunes++}`);
  }

  /** Opens the file for a rotation or a reset. */
  async function holder(work: Partial<Beside> = {}) {
    const opened = await openedForKeyHolder(file);
    const { store, opened: rows } = storeBeside(opened.store, { afterWrite: create, ...work });
    return { parts: { ...opened, store, yieldToLoop: async () => undefined }, rows };
  }

  const expectSound = async () => expect(await doctor(file)).toMatchObject({ ok: true, findings: [] });
  /** Replaces the master key, and the keys of a new tenant. */
  async function replaceMasterKey(): Promise<void> {
    const { tenant } = await other.createTenant('other');
    await withAdmin(file, (admin) => admin.rotate({ tenantId: tenant.id, indexes: false, master: true }));
  }

  return { tenantId, holder, pruneNow, replaceMasterKey, expectSound };
}

it('a rotation opens few rows under the lock, however many another process writes', async () => {
  const { tenantId, holder, expectSound } = await beside();
  const { parts, rows } = await holder();
  expect(await rotateTenant(parts, tenantId, { indexes: true }, () => undefined)).toMatchObject({ resumed: false });
  // The new data key and index key, and the removal of the two former ones.
  expect(rows).toHaveLength(4);
  expect(Math.max(...rows)).toBeLessThanOrEqual(MAX_OPENED);
  await expectSound();
});

it('a reset opens few rows under the lock', async () => {
  const { holder, expectSound } = await beside();
  const { parts, rows } = await holder();
  await resetTokens(parts, undefined);
  expect(rows).toHaveLength(2);
  expect(Math.max(...rows)).toBeLessThanOrEqual(MAX_OPENED);
  await expectSound();
});

it.each(['addTenantKey', 'removeTenantKey', 'removeAllTokens'])(
  'a prune before %s repeats the change, and does not end the work',
  async (method) => {
    const { tenantId, holder, pruneNow, expectSound } = await beside();
    let left = 1;
    const { parts, rows } = await holder({
      beforeChange: async (name) => {
        if (name === method && left-- > 0) await pruneNow();
      },
    });
    if (method === 'removeAllTokens') await resetTokens(parts, undefined);
    else await rotateTenant(parts, tenantId, { indexes: false }, () => undefined);
    expect(left).toBeLessThan(1);
    // The refused change, the new key and the removal of the former one.
    expect(rows).toHaveLength(3);
    expect((await parts.store.findTenant(tenantId))?.keys).toHaveLength(2);
    await expectSound();
  },
);

it('a master key that is replaced meanwhile wraps the new key', async () => {
  const { tenantId, holder, replaceMasterKey, expectSound } = await beside();
  let left = 1;
  const { parts } = await holder({
    beforeChange: async () => {
      if (left-- > 0) await replaceMasterKey();
    },
  });
  expect(await rotateTenant(parts, tenantId, { indexes: false }, () => undefined)).toMatchObject({ key_id: 3 });
  await expectSound();
});

it('prunes before each attempt end the rotation with write_conflict', async () => {
  const { tenantId, holder, pruneNow } = await beside();
  const { parts } = await holder({ beforeChange: pruneNow });
  const rotation = rotateTenant(parts, tenantId, { indexes: false }, () => undefined);
  await expect(rotation).rejects.toMatchObject({ code: 'write_conflict' });
});
