import { directClient } from '../../src/client/direct.ts';
import { remoteClient } from '../../src/client/remote.ts';
import type { Call, Client } from '../../src/contract/call.ts';
import { DEFAULT_LIMITS } from '../../src/contract/limits.ts';
import type { Store, VaultHeader } from '../../src/core/ports.ts';
import { startDaemon } from '../../src/http/daemon.ts';
import type { Vault } from '../../src/vault/vault.ts';
import type { Draw } from './model-fuzz-bodies.ts';

/** Creates a vault with the records that `fill` inserts. Resolves to its store, opened once for each daemon. */
export type OpenStores = (header: VaultHeader, fill: (store: Store) => Promise<void>) => Promise<readonly Store[]>;

const OPTIONS = {
  host: '127.0.0.1',
  port: 0,
  headerPrefix: 'SVC',
  limits: DEFAULT_LIMITS,
  log: false,
  version: '0.0.0',
} as const;

/** Starts a daemon for each vault in this process, where they share a stepping clock and random numbers. */
export async function startDaemons(vaults: readonly Vault[], draw: Draw) {
  const daemons = await Promise.all(
    vaults.map(async (vault) => {
      await vault.ready();
      const daemon = await startDaemon(directClient(vault), { ...OPTIONS, ready: vault.ready });
      return { ...daemon, remote: patient(remoteClient({ url: daemon.url })) };
    }),
  );
  return {
    urls: daemons.map(({ url }) => url),
    call: (call: Call) => draw.one(daemons).remote.call(call),
    callEach: (call: Call) => daemons.map(({ remote }) => remote.call(call)),
    vault: () => draw.one(vaults),
    /** Stops the daemons. Does not close their vaults. */
    stop: async () => {
      await Promise.all(daemons.map(({ remote }) => remote.close()));
      await Promise.all(daemons.map((daemon) => daemon.stop()));
    },
  };
}

/** A daemon refuses a peer after 20 failed authentications in a second. Stay below that. */
const MAX_FAILURES = 18;
const WINDOW_MS = 1_100;

function patient(client: Client): Client {
  let failures: number[] = [];
  return {
    call: async (call) => {
      const now = performance.now();
      failures = failures.filter((at) => now - at < WINDOW_MS);
      const [oldest] = failures;
      if (oldest !== undefined && failures.length >= MAX_FAILURES) {
        await new Promise((resolve) => setTimeout(resolve, oldest + WINDOW_MS - now));
      }
      const reply = await client.call(call);
      if (reply.status === 401) failures.push(performance.now());
      return reply;
    },
    close: () => client.close(),
  };
}
