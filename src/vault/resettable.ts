import type { Vault } from './vault.ts';

/** A vault that can be closed for a moment, to put its file back to how it was. */
export interface ResettableVault {
  readonly vault: Vault;
  /** Lets finish what is under way, runs `between` while the vault is closed, and lets what came meanwhile go on with it. */
  reopen(between: () => Promise<void>): Promise<void>;
}

/** Stands in front of a vault that `open` opens anew. Where that fails, everything fails from then on. */
export function resettableVault(first: Vault, open: () => Promise<Vault>): ResettableVault {
  let current = Promise.resolve(first);
  const underWay = new Set<Promise<unknown>>();

  function use<T>(work: (vault: Vault) => Promise<T>): Promise<T> {
    const done = current.then(work);
    const forget = (): void => {
      underWay.delete(done);
    };
    underWay.add(done);
    done.then(forget, forget);
    return done;
  }

  return {
    vault: {
      file: first.file,
      limits: first.limits,
      dispatch: (call) => use((vault) => vault.dispatch(call)),
      ready: () => use((vault) => vault.ready()),
      notices: () => use((vault) => vault.notices()),
      check: () => use((vault) => vault.check()),
      createTenant: (name) => use((vault) => vault.createTenant(name)),
      listTenants: () => use((vault) => vault.listTenants()),
      issueKey: (tenantId) => use((vault) => vault.issueKey(tenantId)),
      sweep: () => use((vault) => vault.sweep()),
      sweepNowAndThen: () => use((vault) => vault.sweepNowAndThen()),
      close: () => use((vault) => vault.close()),
    },
    async reopen(between) {
      const before = [...underWay];
      current = current.then(async (vault) => {
        await Promise.allSettled(before);
        await vault.close();
        await between();
        return open();
      });
      await current;
    },
  };
}
