import type { JsonObject } from '../../../contract/json.ts';
import { DEFAULT_LIMITS } from '../../../contract/limits.ts';
import type { VaultSettings } from '../../../vault/vault.ts';
import type { Environment } from '../../flags/global-flags.ts';
import { VERSION } from '../../help/version.ts';
import type { DevVault } from './dev-vault.ts';

export interface SeededDevVaultOptions {
  /** The path of a persistent vault; undefined for a temporary one. */
  readonly file: string | undefined;
  readonly settings: VaultSettings;
  readonly seedFiles: readonly string[];
  /** The seed number as typed. */
  readonly seed: string | undefined;
  readonly env: Environment;
}

/** `ids` is what `vault seed apply --out -` prints: `{ apps, tokens }`. It is empty without a seed file. */
export type SeededDevVault = DevVault & { readonly ids: JsonObject };

/** A daemon with its `--dev` vault, on a free port of 127.0.0.1. */
export type DevDaemon = Awaited<ReturnType<typeof startDevDaemon>>;

/**
 * Opens a `--dev` vault and serves it without a log. Resolves when the daemon listens. `background` lets the process
 * end while it does.
 */
export async function startDevDaemon(headerPrefix: string, options: SeededDevVaultOptions, background = false) {
  const dev = await openSeededDevVault(options);
  const { vault } = dev;
  try {
    const [{ startDaemon }, { directClient }] = await Promise.all([
      import('../../../http/daemon.ts'),
      import('../../../client/direct.ts'),
    ]);
    await vault.ready();
    const daemon = await startDaemon(directClient(vault), {
      host: '127.0.0.1',
      port: 0,
      headerPrefix,
      background,
      limits: DEFAULT_LIMITS,
      ready: () => vault.ready(),
      notices: () => vault.notices(),
      log: false,
      version: VERSION,
      dev,
    });
    let stopped: Promise<void> | undefined;
    /** Stops the daemon and closes the vault. Further calls wait for the first. */
    const stop = (): Promise<void> => {
      stopped ??= daemon.stop().finally(() => vault.close());
      return stopped;
    };
    return { ...dev, url: daemon.url, stop };
  } catch (error) {
    await vault.close();
    throw error;
  }
}

/**
 * Opens or creates a `--dev` vault and applies the seed files to it. With a seed number, a new vault has the same
 * tenant id, keys and application ids in every run.
 */
export async function openSeededDevVault(options: SeededDevVaultOptions): Promise<SeededDevVault> {
  const { file, env, seedFiles } = options;
  const { keptDevVault, temporaryDevVault } = await import('./dev-vault.ts');
  const open = (settings: VaultSettings) =>
    file === undefined ? temporaryDevVault(settings) : keptDevVault(file, settings);
  if (seedFiles.length === 0 && options.seed === undefined) return { ...(await open(options.settings)), ids: {} };
  const [{ loadSeed }, { parseSeed, seededRandom }, { seededIds }, { applySeed }, { directClient }] = await Promise.all(
    [
      import('../seed/seed-document.ts'),
      import('../seed/seeded-random.ts'),
      import('../seed/seed-output.ts'),
      import('../seed/apply-seed.ts'),
      import('../../../client/direct.ts'),
    ],
  );
  const seed = parseSeed(options.seed);
  // Load the seed before the vault is created, so that most errors in its files leave nothing behind.
  const document = await loadSeed(seedFiles, env, seed ?? 0);
  const random = seed === undefined ? undefined : seededRandom(seed);
  const make = () => open({ ...options.settings, overRandom: random?.over });
  const dev = await (random?.during('vault', make) ?? make());
  if (seedFiles.length === 0) return { ...dev, ids: {} };
  try {
    const applied = await applySeed(directClient(dev.vault), dev.keys.management_key, document, { random });
    await dev.keepAsStart?.();
    return { ...dev, ids: seededIds(applied, document) };
  } catch (error) {
    await dev.vault.close();
    throw error;
  }
}
