import type { Client } from '../contract/call.ts';
import type { Vault } from '../vault/vault.ts';

/**
 * Calls on an opened vault: the daemon without the socket. Closing the client sweeps now and then, and closes
 * the vault.
 *
 * A reply comes in a tick behind the one in which the store lets go of the snapshot that reads share. Whoever has it may
 * print it to a terminal that stands still, which stops this thread for as long: nobody could empty the log of the file.
 */
export function directClient(vault: Vault): Client {
  return {
    call: (call) =>
      new Promise((resolve, reject) => {
        vault.dispatch(call).then((reply) => process.nextTick(resolve, reply), reject);
      }),
    take: (call, answered) => vault.take(call, answered),
    endWaits: () => vault.endWaits(),
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
