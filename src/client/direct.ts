import type { Client } from '../contract/call.ts';
import { nextTick } from '../core/timers.ts';
import type { Vault } from '../vault/vault.ts';

/**
 * Returns a client for an opened vault, without a socket between them. `close` sweeps expired records at most once an
 * hour, then closes the vault.
 *
 * Calls resolve on the next tick, after the shared read snapshot is released. Printing to a paused terminal blocks this
 * thread, and an open snapshot would keep the log from being emptied.
 */
export function directClient(vault: Vault): Client {
  return {
    call: (call) =>
      new Promise((resolve, reject) => {
        vault.dispatch(call).then((reply) => nextTick(() => resolve(reply)), reject);
      }),
    take: (call, answered) => vault.take(call, answered),
    endWaits: () => vault.endWaits(),
    close: async () => {
      try {
        await vault.sweepNowAndThen();
      } catch {
        // The call was answered, so ignore a failed sweep; the next call sweeps again.
      }
      await vault.close();
    },
  };
}
