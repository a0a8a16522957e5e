import { existsSync } from 'node:fs';
import { mkdir, open, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { errorCode, Fault } from '../../core/fault.ts';
import { homeFolder } from '../../paths/home-folder.ts';
import { reasonOf } from '../exit/error-reason.ts';
import { assertPrivate } from '../files/secret-file.ts';
import { checkPath } from '../files/typed-paths.ts';
import { cannotMake, writeWholeFile } from '../files/whole-file.ts';
import type { Environment } from '../flags/global-flags.ts';
import { isProfileName, type Profile, parseProfile } from './profile.ts';

/**
 * The profiles of this user. Each profile has its own file, so that concurrent commands lose no changes:
 *
 *     <configuration folder>/token-vault/       0700
 *       default                                 the name of the default profile
 *       profiles/NAME.json                      0600, the members of `Profile`
 */
export type ProfileStore = Awaited<ReturnType<typeof openProfileStore>>;

export async function openProfileStore(env: Environment) {
  const root = configFolder(env);
  const folder = root && path.join(root, 'profiles');
  const defaultFile = root && path.join(root, 'default');
  function fileOf(name: string): string | undefined {
    const file = `${checkName(name)}.json`;
    return folder && path.join(folder, file);
  }
  const store = {
    /** Resolves to the sorted names. */
    async list(): Promise<readonly string[]> {
      const files = (folder && (await ignoreMissing(readdir(folder)))) || [];
      const names = files.filter((file) => file.endsWith('.json')).map((file) => file.slice(0, -'.json'.length));
      return names.filter(isProfileName).sort();
    },
    /** Resolves to a profile. Rejects with `not_found` for an unknown name, `file_unsafe` if others can read it. */
    async read(name: string): Promise<Profile> {
      const file = fileOf(name);
      const text = file && (await readClosed(file));
      if (file === undefined || text === undefined) throw noProfile(name);
      const profile = parseProfile(text);
      if (profile !== undefined) return profile;
      throw new Fault('usage', `${file} is not a profile`, { hint: `vault profile remove ${name}` });
    },
    /** Rejects with the fault `usage` for an invalid name and with `file_exists` for a taken one. */
    async checkFree(name: string) {
      checkName(name);
      if ((await store.list()).includes(name)) throw taken(name);
    },
    /** Writes a new profile completely or not at all. Rejects with the fault `file_exists`. */
    async add(name: string, profile: Profile) {
      const file = fileOf(name);
      if (file === undefined) throw noFolder();
      await makeFolder(path.dirname(file));
      await writeWholeFile('profile', file, `${JSON.stringify(profile)}\n`).catch((error: unknown) => {
        throw error instanceof Fault && error.code === 'file_exists' ? taken(name) : error;
      });
    },
    async remove(name: string) {
      const file = fileOf(name);
      if ((file && (await ignoreMissing(rm(file).then(() => true)))) !== true) throw noProfile(name);
      if (defaultFile && (await store.defaultName()) === name) await rm(defaultFile, { force: true });
    },
    async defaultName(): Promise<string | undefined> {
      const name = (defaultFile && (await readClosed(defaultFile)))?.trim();
      return name === undefined || name === '' ? undefined : checkName(name);
    },
    async setDefault(name: string) {
      await store.read(name);
      if (defaultFile === undefined) throw noFolder();
      await writeWholeFile('profile', defaultFile, `${name}\n`, 'replace');
    },
  };
  return store;
}

function checkName(name: string): string {
  if (isProfileName(name)) return name;
  throw new Fault(
    'usage',
    'a profile name must be 1 to 64 of a-z, 0-9, `.`, `_` and `-`, and begin with one of a-z, 0-9',
  );
}

function noProfile(name: string): Fault {
  return new Fault('not_found', `there is no profile ${name}`, { hint: 'list them with `vault profile list`' });
}

function noFolder(): Fault {
  return new Fault('usage', 'there is no folder for profiles: this user has no home folder', {
    hint: 'set VAULT_CONFIG_DIR to a folder of your own',
  });
}

function taken(name: string): Fault {
  return new Fault('file_exists', `profile ${name} already exists`, { hint: `vault profile remove ${name}` });
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    // Node reports a read-only disk as a missing folder.
    checkPath('profile', existingPart(folder), true);
    throw cannotMake('profile', folder, error);
  }
}

/** Returns the folder itself, or the nearest folder above it that exists. */
function existingPart(folder: string): string {
  return existsSync(folder) ? folder : existingPart(path.dirname(folder));
}

/** Resolves to the text of a file that only its owner can read, or to undefined for a missing file. */
async function readClosed(file: string): Promise<string | undefined> {
  const handle = await ignoreMissing(open(file));
  if (handle === undefined) return undefined;
  try {
    assertPrivate(file, await handle.stat());
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}

async function ignoreMissing<T>(work: Promise<T>): Promise<T | undefined> {
  return work.catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw new Fault('usage', `the profiles cannot be read (${reasonOf(error)})`, {
      hint: 'set VAULT_CONFIG_DIR to another folder',
      cause: error,
    });
  });
}

const FOLDER = 'token-vault';

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
  if (system === 'darwin') return inHome('Library', 'Preferences', FOLDER);
  if (system === 'win32')
    return APPDATA ? path.join(APPDATA, FOLDER, 'Config') : inHome('AppData', 'Roaming', FOLDER, 'Config');
  return path.isAbsolute(XDG_CONFIG_HOME) ? path.join(XDG_CONFIG_HOME, FOLDER) : inHome('.config', FOLDER);
}
