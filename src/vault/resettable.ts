import { Problem, problemReply } from '../core/problem.ts';
import type { Vault } from './vault.ts';

/**
 * Returns a wrapper of `first` that can be closed for a moment to restore its file. Uses `open` to open the vault
 * again; if that fails, every later call fails.
 */
export function resettableVault(first: Vault, open: () => Promise<Vault>) {
  let current = Promise.resolve(first);
  /** Undefined while the vault is closed. */
  let opened: Vault | undefined = first;
  let underWay = 0;
  let idle: (() => void) | undefined;

  function end(): void {
    underWay -= 1;
    if (underWay === 0) idle?.();
  }

  async function use<T>(work: (vault: Vault) => Promise<T>): Promise<T> {
    const vault = opened ?? (await current);
    underWay += 1;
    try {
      return await work(vault);
    } finally {
      end();
    }
  }

  const vault: Vault = {
    file: first.file,
    limits: first.limits,
    dispatch: (call) => use((vault) => vault.dispatch(call)),
    take(call, answered) {
      if (opened === undefined) {
        const failed = () => answered(problemReply(new Problem('internal_error'), call.traceId ?? ''));
        vault.dispatch(call).then(answered, failed);
        return;
      }
      underWay += 1;
      opened.take(call, (reply) => {
        end();
        answered(reply);
      });
    },
    ready: () => use((vault) => vault.ready()),
    notices: () => use((vault) => vault.notices()),
    check: () => use((vault) => vault.check()),
    createTenant: (name) => use((vault) => vault.createTenant(name)),
    listTenants: () => use((vault) => vault.listTenants()),
    issueKey: (tenantId) => use((vault) => vault.issueKey(tenantId)),
    endWaits: () => opened?.endWaits(),
    sweep: () => use((vault) => vault.sweep()),
    pruneAudit: (keepMs, fileOf) => use((vault) => vault.pruneAudit(keepMs, fileOf)),
    nextExpiry: () => use((vault) => vault.nextExpiry()),
    sweepNowAndThen: () => use((vault) => vault.sweepNowAndThen()),
    figures: () => use((vault) => vault.figures()),
    close: () => use((vault) => vault.close()),
  };

  async function reopened(before: Promise<Vault>, between: () => Promise<void>): Promise<Vault> {
    const vault = await before;
    opened = undefined;
    vault.endWaits();
    if (underWay > 0) {
      await new Promise<void>((resolve) => {
        idle = resolve;
      });
    }
    await vault.close();
    await between();
    const next = await open();
    await next.ready();
    opened = next;
    return next;
  }

  return {
    vault,
    /**
     * Finishes running calls, closes the vault, runs `between`, and opens the vault again for the calls that arrived
     * meanwhile. Resolves to the result of `between`, or rejects as it does.
     */
    async reopen<T>(between: () => Promise<T>) {
      const outcome = Promise.withResolvers<T>();
      // If opening fails as well, nothing else handles the rejection of `between`.
      outcome.promise.catch(() => undefined);
      current = reopened(current, () => between().then(outcome.resolve, outcome.reject));
      await current;
      return outcome.promise;
    },
    /**
     * Runs `work` on the file and keeps the vault open until `work` ends. Rejects with `vault_moved` when the file was
     * moved.
     */
    during: <T>(work: () => Promise<T>): Promise<T> =>
      use(async (vault) => {
        await vault.ready();
        return work();
      }),
  };
}
