import type { Client } from '../../../contract/call.ts';
import type { JsonObject } from '../../../contract/json.ts';
import type { VaultSettings } from '../../../vault/vault.ts';
import type { Environment } from '../../global-flags.ts';
import type { DevVault } from './dev-vault.ts';

export interface SeededDevVaultOptions {
  /** Kept there; undefined: temporary. */
  readonly file: string | undefined;
  readonly settings: VaultSettings;
  readonly seedFiles: readonly string[];
  /** As it was typed. */
  readonly seed: string | undefined;
  readonly env: Environment;
}

export interface SeededDevVault extends DevVault {
  /** `{ apps, tokens }`: what `vault seed apply --out json` prints. Empty without a seed file. */
  readonly ids: JsonObject;
}

/**
 * A `--dev` vault in which the seed files are applied before anybody can ask it. With a seed its tenant, its own two keys, and
 * the ids and keys of the applications follow from that number.
 */
export async function openSeededDevVault(options: SeededDevVaultOptions): Promise<SeededDevVault> {
  const { file, env, seedFiles } = options;
  const { keptDevVault, temporaryDevVault } = await import('./dev-vault.ts');
  if (seedFiles.length === 0 && options.seed === undefined) {
    const dev = file === undefined ? temporaryDevVault(options.settings) : keptDevVault(file, options.settings);
    return { ...(await dev), ids: {} };
  }
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
  // Before anything is made: most seeds that cannot be applied are told here.
  const document = await loadSeed(seedFiles, env, seed ?? 0);
  const random = seed === undefined ? undefined : seededRandom(seed);
  const settings = { ...options.settings, overRandom: random?.over };
  const make = () => (file === undefined ? temporaryDevVault(settings) : keptDevVault(file, settings));
  const dev = await (random?.during('vault', make) ?? make());
  if (seedFiles.length === 0) return { ...dev, ids: {} };
  try {
    const client: Client = directClient(dev.vault);
    const applied = await applySeed(client, dev.keys.management_key, document, { random });
    await dev.keepAsStart?.();
    return { ...dev, ids: seededIds(applied, document) };
  } catch (error) {
    await dev.vault.close();
    throw error;
  }
}
