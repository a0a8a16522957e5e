import { startDevDaemon } from '../cli/commands/dev/seeded-dev-vault.ts';
import { clearInterval, setInterval } from '../core/timers.ts';
import { type CheckedOptions, ownEnvironment, type StartedDaemon } from './start-options.ts';

const SWEEP_EVERY_MS = 60_000;

/** Starts a daemon in this process, as `vault serve --dev` does, but without output. Resolves when it listens. */
export async function startInProcess({
  headerPrefix,
  seedFiles,
  seed,
  keepAlive,
}: CheckedOptions): Promise<StartedDaemon> {
  const options = { file: undefined, settings: {}, seedFiles, seed, env: ownEnvironment() };
  const { url, keys, ids, vault, stop } = await startDevDaemon(headerPrefix, options, !keepAlive);
  const timer = setInterval(() => void vault.sweep().catch(() => undefined), SWEEP_EVERY_MS).unref();
  return {
    url,
    keys,
    ids: seedFiles.length > 0 ? ids : undefined,
    stop: () => {
      clearInterval(timer);
      return stop();
    },
  };
}
