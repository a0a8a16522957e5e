import path from 'node:path';
import { homeFolder } from '../../paths/home-folder.ts';
import type { Environment } from '../global-flags.ts';

const NAME = 'token-vault';

/**
 * Returns the folder of the user's profiles; undefined for a user without a home folder, who has no profiles.
 * VAULT_CONFIG_DIR names the folder itself. XDG_CONFIG_HOME names the folder above it, and must be absolute, as the XDG
 * Base Directory Specification requires.
 */
export function configFolder(
  env: Environment,
  system: NodeJS.Platform = process.platform,
  findHome = homeFolder,
): string | undefined {
  const { VAULT_CONFIG_DIR, XDG_CONFIG_HOME = '', APPDATA } = env;
  if (VAULT_CONFIG_DIR) return VAULT_CONFIG_DIR;
  const inHome = (...names: readonly string[]) => {
    const home = findHome();
    return home && path.join(home, ...names);
  };
  if (system === 'darwin') return inHome('Library', 'Preferences', NAME);
  if (system === 'win32')
    return APPDATA ? path.join(APPDATA, NAME, 'Config') : inHome('AppData', 'Roaming', NAME, 'Config');
  return path.isAbsolute(XDG_CONFIG_HOME) ? path.join(XDG_CONFIG_HOME, NAME) : inHome('.config', NAME);
}
