import { openSeededDevVault } from '../cli/commands/dev/seeded-dev-vault.ts';
import { VERSION } from '../cli/version.ts';
import { directClient } from '../client/direct.ts';
import { DEFAULT_LIMITS } from '../contract/limits.ts';
import { startDaemon } from '../http/daemon.ts';
import { type CheckedOptions, ownEnvironment, type StartedDaemon } from './start-options.ts';

const SWEEP_EVERY_MS = 60_000;

/** What `vault serve --dev` does, in this process and without its words. */
export async function startInProcess({ headerPrefix, seedFiles, seed }: CheckedOptions): Promise<StartedDaemon> {
  const options = { file: undefined, settings: {}, seedFiles, seed, env: ownEnvironment() };
  const { vault, keys, ids, clock, reset } = await openSeededDevVault(options);
  try {
    const daemon = await startDaemon(directClient(vault), {
      host: '127.0.0.1',
      port: 0,
      headerPrefix,
      limits: DEFAULT_LIMITS,
      ready: () => vault.ready(),
      log: false,
      version: VERSION,
      dev: { clock, reset },
    });
    const timer = setInterval(() => void vault.sweep().catch(() => undefined), SWEEP_EVERY_MS).unref();
    let stopped: Promise<void> | undefined;
    const stop = (): Promise<void> => {
      clearInterval(timer);
      stopped ??= daemon.stop().finally(() => vault.close());
      return stopped;
    };
    return { url: daemon.url, keys, ids: seedFiles.length > 0 ? ids : undefined, stop };
  } catch (error) {
    await vault.close();
    throw error;
  }
}
