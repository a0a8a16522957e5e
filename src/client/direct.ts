import type { Client } from '../contract/call.ts';
import type { Vault } from '../vault.ts';

/**
 * Calls on an opened vault: the daemon without the socket. Closing the client sweeps now and then, and closes
 * the vault.
 */
export function directClient(vault: Vault): Client {
  return {
    call: (call) => vault.dispatch(call),
    close: async () => {
      try {
        await vault.sweepNowAndThen();
      } catch {
        // The call was answered; who comes next sweeps.
      }
      await vault.close();
    },
  };
}
